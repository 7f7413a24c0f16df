//go:build linux

// Package player is the program in a played container. It drives the program of a scenario, which
// reads no clock, by the wall clock: it answers probes and hooks, exits, and reacts to signals.
package player

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/runner/play/manifest"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// player drives a runtime with one container. Only its loop uses the runtime.
type player struct {
	runtime   *fakeruntime.Runtime
	now       func() virtual.Time
	log       io.Writer
	exit      func(code int)
	pod       string // UID
	container string
	id        string // of the container in the runtime
	instance  int
	ports     []*port
	service   service
	calls     chan func(now virtual.Time)
}

// sharedDir is the shared memory of a pod, which outlives its containers.
var sharedDir = "/dev/shm"

// Main plays the program of the container in which it runs, or asks the player of the container in
// behalf of the command of a probe or hook: player ask KEY. It returns the exit code.
func Main(args []string) int {
	if len(args) == 2 && args[0] == "ask" {
		return ask(os.Getenv("PROBESIM_CONTAINER"), args[1])
	}
	part, container, err := manifest.ReadPart()
	if err == nil {
		err = play(part, container)
	}
	fmt.Fprintln(os.Stderr, "probesim player:", err)
	return 127
}

// play runs until the program exits, which ends the process.
func play(part *manifest.Part, container string) error {
	run, err := part.Plan()
	if err != nil {
		return err
	}
	// a reading of the wall clock from now on counts by the monotonic clock
	began := time.Now()
	zero := began.Add(-time.Duration(began.UnixNano() - part.Zero.UnixNano()))
	now := func() virtual.Time { return virtual.At(time.Since(zero)) }
	streams := run.Streams()
	if part.Stream > 0 {
		sendRequests(streams[part.Stream-1], part.Address, now, os.Stdout)
	}
	planned, err := part.Planned(run)
	if err != nil {
		return err
	}
	instance, err := countStart(container)
	if err != nil {
		return err
	}
	p := newPlayer(planned, container, instance, part.Seed)
	p.now, p.log, p.exit = now, os.Stdout, os.Exit
	p.service.serve(streams, container)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1,
		syscall.SIGUSR2)
	p.start() // requests need its container
	if err := p.listenExec(); err != nil {
		return err
	}
	p.loop(signals)
	return nil
}

func newPlayer(planned *plan.PlannedPod, container string, instance int, seed *int64) *player {
	p := &player{pod: planned.Program.UID, container: container, instance: instance,
		calls: make(chan func(virtual.Time), 16)}
	p.runtime = fakeruntime.New(fakeruntime.Options{Seed: seed, Record: p.record, RecordRules: true})
	p.runtime.AddPod(planned.Program)
	none := new(fakeruntime.Draw)
	p.runtime.SetDelays(fakeruntime.Delays{RunPodSandbox: none, CreateContainer: none, StartContainer: none})
	for _, of := range manifest.PortsOf(planned.Pod, container) {
		p.ports = append(p.ports, &port{Port: of, player: p})
	}
	return p
}

// countStart counts the starts of a container of this pod, which no container knows by itself, and
// returns the number of those before.
func countStart(container string) (int, error) {
	file := filepath.Join(sharedDir, "probesim-"+container+".starts")
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return n, os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600)
}

// start starts the container in the runtime, whose calls take no time.
func (p *player) start() {
	now := p.now()
	sandbox := p.runtime.Submit(now, fakeruntime.Call{Method: fakeruntime.RunPodSandbox, PodUID: p.pod})
	p.id = p.runtime.Submit(now, fakeruntime.Call{Method: fakeruntime.CreateContainer, PodUID: p.pod,
		SandboxID: sandbox.ID, Name: p.container, Attempt: p.instance}).ID
	p.runtime.Submit(now, fakeruntime.Call{Method: fakeruntime.StartContainer, ContainerID: p.id})
}

// loop calls the runtime when it wants to be called, and for requests and signals.
func (p *player) loop(signals <-chan os.Signal) {
	for {
		wake := virtual.Max
		for _, op := range p.runtime.Advance(p.now()) {
			if done, waits := op.Waiter.(chan *fakeruntime.Op); waits {
				done <- op
			}
		}
		if at, ok := p.runtime.Next(); ok {
			wake = at
		}
		for _, port := range p.ports {
			wake = min(wake, port.update(p.now()))
		}
		if p.service.update() != nil {
			wake = min(wake, p.now().Add(10*time.Millisecond))
		}
		timer := time.NewTimer(min(max(0, wake.Sub(p.now())), time.Hour))
		select {
		case call := <-p.calls:
			call(p.now())
		case s := <-signals:
			p.stop(s)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// stop passes a signal to the program.
func (p *player) stop(s os.Signal) {
	now := p.now()
	r := trace.Record{T: now, Kind: trace.ContainerStopping}
	p.service.stops = true
	if s != syscall.SIGTERM {
		r.Message = s.String()
	}
	p.write(r)
	p.runtime.Kill(now, fakeruntime.Kill{PodUID: p.pod, Container: p.container, Sigterm: true})
}

// request passes a request to the program and waits for its answer, or until the caller is gone: it
// then returns nil.
func (p *player) request(gone <-chan struct{}, call fakeruntime.Call, key string) *fakeruntime.Op {
	call.PodUID, call.Name, call.ContainerID = p.pod, p.container, p.id
	call.Probe, call.Hook = requester(key)
	began, done := p.now(), make(chan *fakeruntime.Op, 1)
	p.calls <- func(now virtual.Time) {
		if call.Hook != "" {
			p.write(trace.Record{T: now, Kind: trace.HookStarted, Reason: call.Hook})
		}
		if op := p.runtime.Submit(now, call); op.Done {
			done <- op
		} else {
			op.Waiter = done
		}
	}
	var op *fakeruntime.Op
	select {
	case op = <-done:
	case <-gone:
	}
	if call.Method != fakeruntime.HTTPBody {
		end := trace.Record{T: p.now(), Kind: trace.ProbeExecuted, Probe: call.Probe, Took: p.now().Sub(began)}
		end.Result, end.Message = resultOf(op)
		if call.Hook != "" {
			end.Kind, end.Reason = trace.HookEnded, call.Hook
		}
		p.calls <- func(virtual.Time) { p.write(end) }
	}
	return op
}

// requester splits the key of a probe or hook.
func requester(key string) (probe trace.Probe, hook string) {
	if key == "postStart" || key == "preStop" {
		return "", key
	}
	return trace.Probe(key), ""
}

// resultOf returns the result that the kubelet reads from an answer, and its message. Nil stands
// for no answer within the timeout.
func resultOf(op *fakeruntime.Op) (trace.Result, string) {
	switch {
	case op == nil:
		return trace.Failure, ""
	case op.Err != nil:
		return trace.Error, op.Err.Error()
	case op.Call.Method == fakeruntime.ExecSync:
		if op.ExitCode != 0 {
			return trace.Failure, op.Output
		}
		return trace.Success, op.Output
	case op.Reply != fakeruntime.Answered || op.Answer == nil:
		return trace.Failure, ""
	case op.Call.Method == fakeruntime.HTTPGet:
		if code := op.Answer.Code; code >= 400 || code > 0 && code < 200 {
			return trace.Failure, fmt.Sprintf("HTTP probe failed with statuscode: %d", code)
		}
	case op.Call.Method == fakeruntime.GRPC:
		if status, _ := op.Answer.Health(); status != "SERVING" {
			return trace.Failure, fmt.Sprintf("service unhealthy (responded with %q)", status)
		}
	}
	return trace.Success, ""
}

// record gets the records of the runtime. The end of the program is the end of the process.
func (p *player) record(r trace.Record) int64 {
	switch r.Kind {
	case trace.ContainerStarted, trace.ListenerChanged:
		p.service.listens = r.Reason != "closed"
		p.write(r)
	case trace.Behavior:
		p.write(r)
	case trace.ContainerExited:
		p.write(r)
		p.exit(int(r.ExitCode))
	}
	return 0
}

// write writes a record to the log of the container, in the form of a trace.
func (p *player) write(r trace.Record) {
	r.Container, r.Instance, r.Pod = p.container, p.instance, ""
	p.log.Write(append(trace.AppendJSON(nil, &r), '\n'))
}
