package fakeruntime

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Signals, and the exit codes of programs that end by them.
const (
	sigKILL = 9
	sigTERM = 15

	codeSignal  = 128 // plus the number of the signal
	codeSIGKILL = codeSignal + sigKILL

	// SigtermExit is the time from the stop signal to the exit of a program without a rule for it.
	SigtermExit = 100 * time.Millisecond
	// initExit is the running time of a regular init container without a rule for its exit.
	initExit = time.Second
)

// container is a container and, while it runs, its process.
type container struct {
	pod      *pod
	config   *podContainer
	requests []*Op // unanswered requests; usually one at most, stored in request
	request  [1]*Op
	instance instance
	Container
	sandbox  *sandbox
	signal   int // stop signal
	removed  bool
	removing bool // by a call in progress

	exit     exit         // the end of the program by itself
	onSignal exit         // the end that the stop signal causes; zero until then
	killAt   virtual.Time // time of SIGKILL
	closed   bool         // the program has closed its listener
	listenAt virtual.Time // when its rules may open or close the listener next
	signalAt virtual.Time // when its preStop hook sends SIGTERM
	hook     int64        // step of the record that explains the hook
	event    event        // the earliest of exit, killAt, listenAt and signalAt
	stopped  bool         // the runtime has sent the stop signal
	stopping int64        // step of the record that explains the stop or kill
	// killReason is the reason of a kill from outside; empty: none.
	killReason string
	foundAt    virtual.Time // when the runtime finds that the process has ended, after a power-off
	stops      []*Op        // StopContainer calls that wait for the exit
}

func (r *Runtime) createContainer(op *Op) error {
	s, call := op.sandbox, &op.Call
	if s == nil {
		return rpcError("NotFound", "failed to find sandbox id %q: not found", call.SandboxID)
	}
	p := s.pod
	config := p.container(call.Name)
	instance := call.Attempt
	if config.created {
		instance = max(instance, config.latest+1)
	}
	c := &container{pod: p, sandbox: s, config: config, signal: cmp.Or(call.StopSignal, sigTERM), Container: Container{
		ID: op.ID, SandboxID: s.ID,
		PodUID: p.UID, Namespace: p.Namespace, PodName: p.Name,
		Name: call.Name, Image: call.Image, Attempt: call.Attempt, Instance: instance, State: Created,
		CreatedAt: r.Wall(r.now), Step: call.Cause,
	}}
	c.event.process, c.requests = c, c.request[:0]
	c.config.created, c.config.latest = true, instance
	r.containers[c.ID], r.instances[c.ID] = c, instance
	r.all.containers = append(r.all.containers, c)
	p.views.containers = append(p.views.containers, c)
	r.markChanged(p)
	op.container = c
	return nil
}

func (r *Runtime) startContainer(op *Op) error {
	c := op.container
	switch {
	case c == nil:
		return errNotFound("container", op.Call.ContainerID)
	case c.State != Created:
		return rpcError("Unknown", "failed to start container %q: container is in %s state", c.ID, c.criState())
	case !c.sandbox.Ready:
		return rpcError("Unknown", "sandbox container %q is not running", c.SandboxID)
	}
	c.State, c.StartedAt, c.killAt, c.signalAt = Running, r.Wall(r.now), never, never
	c.config.running = c
	c.instance = c.config.newInstance(c.Instance, c.pod.Replica, r.now, r.moments)
	c.exit = c.instance.exit(r.now, c.config.program.Init)
	c.setStep(r.record(c.newRecord(r.now, trace.ContainerStarted, op.Call.Cause)))
	c.scheduleListener(r.now)
	r.scheduleEnd(c)
	r.markChanged(c.pod)
	return nil
}

// stopContainer sends the stop signal at the end of the latency. The call ends when the process
// does, or the StopReturn later. A second call can only shorten the grace period.
func (r *Runtime) stopContainer(op *Op) {
	c := op.container
	if c == nil || c.State != Running {
		r.finish(op, nil)
		return
	}
	if !c.stopped {
		c.stopped = true
		rec := c.newRecord(r.now, trace.ContainerStopping, op.Call.Cause)
		rec.GraceSeconds, rec.Reason = op.Call.GraceSeconds, op.Call.StopReason
		c.stopping = r.record(rec)
		signal := c.signal
		if op.Call.GraceSeconds <= 0 { // the runtime skips the stop signal
			signal = sigKILL
		}
		if !c.instance.signaled || signal == sigKILL { // a second SIGTERM changes nothing
			c.onSignal = c.instance.signal(r.now, signal)
			c.exit = c.exit.earlier(c.onSignal)
			if signal != sigKILL {
				c.scheduleListener(r.now)
			}
		}
	}
	if !op.abandoned || op.Call.GraceSeconds <= 0 {
		c.killAt = min(c.killAt, later(r.now, seconds(op.Call.GraceSeconds)))
	}
	r.scheduleEnd(c)
	if op.abandoned {
		r.finish(op, nil)
		return
	}
	c.stops = append(c.stops, op)
	r.limit(op, never)
}

// returnStop ends a StopContainer call whose process has ended, when the runtime has noticed the
// end.
func (r *Runtime) returnStop(c *container, op *Op) {
	if d := c.config.scope.delay(r.now, DelayStopReturn); d > 0 {
		op.End, op.returns = later(r.now, d), true
		r.queue.schedule(&op.event, op.End, changes)
		return
	}
	r.finish(op, nil)
}

func (r *Runtime) removeContainer(op *Op) error {
	if c := op.container; c != nil {
		r.kill(c, op.Call.Cause)
		if !op.Call.KeepLogs {
			c.config.logs = slices.DeleteFunc(c.config.logs, func(attempt int) bool { return attempt == c.Attempt })
		}
		r.forget(c)
		r.markChanged(c.pod)
	}
	return nil
}

func (r *Runtime) scheduleEnd(c *container) {
	r.queue.schedule(&c.event, min(c.exit.at, c.killAt, c.listenAt, c.signalAt), ends)
}

// process ends the process, or stops it or opens or closes its listener if that comes first.
func (r *Runtime) process(c *container) {
	switch {
	case c.signalAt <= min(c.exit.at, c.killAt, c.listenAt):
		c.signalAt = never
		r.terminate(c, c.hook)
		r.scheduleEnd(c)
		return
	case c.listenAt > min(c.exit.at, c.killAt):
		r.end(c)
		return
	}
	if closed, rule, _ := c.instance.listener(r.now); closed != c.closed {
		c.closed = closed
		if rule > 0 && r.recordRules {
			r.recordRule(c, rule, "", "listener")
		}
		rec := c.newRecord(r.now, trace.ListenerChanged, cmp.Or(c.stopping, c.Step))
		rec.Reason = "opened"
		if closed {
			rec.Reason = "closed"
		}
		r.record(rec)
	}
	c.scheduleListener(r.now)
	r.scheduleEnd(c)
}

// scheduleListener sets when the listener changes next: now, if the rules do not leave it as it is.
func (c *container) scheduleListener(now virtual.Time) {
	closed, _, until := c.instance.listener(now)
	if c.listenAt = until; closed != c.closed {
		c.listenAt = now
	}
}

// kill ends a running process now.
func (r *Runtime) kill(c *container, cause int64) {
	if c.State != Running {
		return
	}
	if c.stopping == 0 {
		c.stopping = cause
	}
	c.killAt, c.exit, c.onSignal = r.now, exit{at: never}, exit{}
	r.queue.cancel(&c.event)
	r.end(c)
}

// end ends the process.
func (r *Runtime) end(c *container) {
	c.State, c.FinishedAt, c.ExitCode, c.Reason = Exited, r.Wall(r.now), c.exit.code, "Completed"
	rule := c.exit.rule
	if c.killAt < c.exit.at || c.killAt == c.exit.at && !c.exitsBeforeKill() {
		c.ExitCode, rule = codeSIGKILL, c.onSignal.rule
	}
	if c.ExitCode != 0 {
		c.Reason = cmp.Or(c.killReason, "Error")
	}
	if rule > 0 && r.recordRules {
		r.recordRule(c, rule, "", "exit")
	}
	r.windows = c.appendWindows(r.windows, r.now)
	rec := c.newRecord(r.now, trace.ContainerExited, cmp.Or(c.stopping, c.Step))
	rec.ExitCode = c.ExitCode
	c.setStep(r.record(rec))
	r.markChanged(c.pod)
	for _, op := range c.requests {
		r.queue.cancel(&op.event)
		op.onProcessExit()
		r.finish(op, nil)
	}
	for _, op := range c.stops {
		r.returnStop(c, op)
	}
	c.failForwarded(r)
	c.requests, c.stops, c.instance = nil, nil, instance{}
	if c.config.running == c {
		c.config.running = nil
	}
}

// exitsBeforeKill reports whether a program that exits at the instant at which its grace period
// ends does so before the SIGKILL. That is a race in a real runtime: it waits for the exit and for
// the end of the grace period in one select, and the process can exit before a SIGKILL that was
// sent reaches it (internal/cri/server/container_stop.go of containerd 2.0,
// internal/oci/runtime_oci.go of CRI-O). Without a seed, the SIGKILL comes first.
func (c *container) exitsBeforeKill() bool {
	return c.config.own.with(int64(c.Instance)).named("exit at the end of the grace period").happens(0.5)
}

// forget removes a container whose process has ended.
func (r *Runtime) forget(c *container) {
	c.removed = true
	delete(r.containers, c.ID)
	delete(c.pod.names, c.Name+"_"+c.pod.name(c.Attempt))
	r.all.containers = without(r.all.containers, c)
	c.pod.views.containers = without(c.pod.views.containers, c)
}

func (c *container) newRecord(now virtual.Time, kind trace.Kind, cause int64) trace.Record {
	return trace.Record{
		T: now, Kind: kind, Cause: cause,
		Pod: c.Namespace + "/" + c.PodName, Container: c.Name, Instance: c.Instance,
	}
}

// setStep stores the step of the latest record about the container.
func (c *container) setStep(step int64) { c.Step, c.config.step = step, step }

// criState returns the name of the state in the CRI.
func (c *container) criState() string {
	return map[ContainerState]string{
		Created: "CONTAINER_CREATED", Running: "CONTAINER_RUNNING", Exited: "CONTAINER_EXITED",
	}[c.State]
}

// seconds returns n seconds: 0 if n is negative, and the longest duration if the result overflows.
func seconds(n int64) time.Duration {
	if n > math.MaxInt64/int64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(max(0, n)) * time.Second
}

// Kill describes a kill of a container from outside, such as by the OOM killer.
type Kill struct {
	PodUID    string
	Container string
	Reason    string // reason in the status of the container, such as OOMKilled
	Sigterm   bool   // send SIGTERM instead of SIGKILL; Reason and Remove have no effect
	Remove    bool   // also remove the container from the runtime, even if it has already ended
}

// Kill ends the newest container of a name with SIGKILL at time now, or sends it SIGTERM. With
// Remove, it also removes the container. It reports false if the container does not exist, or has
// ended and Remove is not set. Events that are due until now happen first, as in Submit.
func (r *Runtime) Kill(now virtual.Time, k Kill) bool {
	r.run(now)
	c := r.newest(k.PodUID, k.Container)
	if k.Sigterm {
		return r.terminate(c, 0)
	}
	if c == nil || c.State != Running && !k.Remove {
		return false
	}
	step := r.recordKill(c, k.Reason, 0)
	if c.State == Running {
		c.stopping, c.killReason = step, k.Reason
		r.kill(c, step)
	}
	if k.Remove {
		c.config.step = max(c.config.step, step)
		r.forget(c)
		r.markChanged(c.pod)
	}
	return true
}

// terminate sends SIGTERM to a running container, from outside or by its hook. Its program reacts
// as to a stop signal, but the runtime does not know of it: no grace period ends with SIGKILL, and
// nothing waits for the exit.
func (r *Runtime) terminate(c *container, cause int64) bool {
	if c == nil || c.State != Running {
		return false
	}
	step := r.recordKill(c, "SIGTERM", cause)
	if !c.instance.signaled {
		if c.stopping == 0 {
			c.stopping = step
		}
		c.onSignal = c.instance.signal(r.now, sigTERM)
		c.scheduleListener(r.now)
		c.exit = c.exit.earlier(c.onSignal)
		r.scheduleEnd(c)
	}
	return true
}

func (r *Runtime) recordKill(c *container, reason string, cause int64) (step int64) {
	rec := c.newRecord(r.now, trace.Step, cause)
	rec.Reason, rec.Message = "kill", reason
	return r.record(rec)
}

// newest returns the last created container of a name, or nil.
func (r *Runtime) newest(podUID, name string) *container {
	if p := r.pods[podUID]; p != nil {
		for _, c := range slices.Backward(p.views.containers) {
			if c.Name == name {
				return c
			}
		}
	}
	return nil
}

// NextAttempt returns the attempt after the highest one whose logs are on disk, or 0. Logs outlive
// a container that the runtime lost, but not one that the kubelet removed with its logs
// (calcRestartCountByLogDir in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (r *Runtime) NextAttempt(podUID, container string) int {
	if c := r.config(podUID, container); c != nil && len(c.logs) > 0 {
		return slices.Max(c.logs) + 1
	}
	return 0
}

// sandbox is a pod sandbox.
type sandbox struct {
	Sandbox
	pod     *pod
	created virtual.Time // virtual time
	removed bool
}

func (r *Runtime) runPodSandbox(op *Op) error {
	p := op.pod
	if p == nil {
		return fmt.Errorf("the container runtime does not know pod %q: AddPod must come first", op.Call.PodUID)
	}
	s := &sandbox{pod: p, created: r.now, Sandbox: Sandbox{
		ID: op.ID, PodUID: p.UID, Namespace: p.Namespace, PodName: p.Name,
		Attempt: op.Call.Attempt, Ready: true, CreatedAt: r.Wall(r.now), IP: p.ip,
	}}
	r.sandboxes[s.ID] = s
	r.all.sandboxes = append(r.all.sandboxes, s)
	p.views.sandboxes = append(p.views.sandboxes, s)
	r.markChanged(p)
	op.sandbox = s
	return nil
}

// stopPodSandbox kills the running containers of a sandbox. As in containerd, a sandbox that does
// not exist is no error.
func (r *Runtime) stopPodSandbox(op *Op) error {
	if s := op.sandbox; s != nil && s.Ready {
		r.killAll(s, op.Call.Cause)
		s.Ready, s.IP = false, ""
		r.markChanged(s.pod)
	}
	return nil
}

// removePodSandbox removes a sandbox and all its containers.
func (r *Runtime) removePodSandbox(op *Op) error {
	s := op.sandbox
	if s == nil {
		return nil
	}
	r.killAll(s, op.Call.Cause)
	for _, c := range s.containers() {
		r.forget(c)
	}
	s.removed = true
	delete(r.sandboxes, s.ID)
	delete(s.pod.names, s.pod.name(s.Attempt))
	r.all.sandboxes = without(r.all.sandboxes, s)
	s.pod.views.sandboxes = without(s.pod.views.sandboxes, s)
	r.markChanged(s.pod)
	return nil
}

func (r *Runtime) killAll(s *sandbox, cause int64) {
	for _, c := range s.containers() {
		r.kill(c, cause)
	}
}

// containers returns the containers of a sandbox in the order of their creation.
func (s *sandbox) containers() []*container {
	var in []*container
	for _, c := range s.pod.views.containers {
		if c.sandbox == s {
			in = append(in, c)
		}
	}
	return in
}

// name returns the name of a sandbox in the runtime, which is also the suffix of the names of its
// containers.
func (p *pod) name(attempt int) string {
	return p.Name + "_" + p.Namespace + "_" + p.UID + "_" + strconv.Itoa(attempt)
}
