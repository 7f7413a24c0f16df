// Package live starts a program on this machine as often as you want, probes it as a manifest says,
// and stops it while a client sends requests. It measures how long the program takes to start and
// to stop, and which requests it loses. It is the only package that measures real time: nothing of
// it reaches a simulation but the numbers.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Options say what to run, and how often.
type Options struct {
	Command   []string
	Pod       *v1.Pod       // for the grace period
	Container *v1.Container // its probes, its preStop hook and its ports
	// of the container, to those that the program has on this machine; a port that is not there is
	// the same
	Ports    map[int32]int
	Runs     int
	Within   time.Duration // the longest start
	Stderr   io.Writer     // of the program; nil: it is lost
	Progress func(done int)
}

// Run is one run of the program. Times are real.
type Run struct {
	Start time.Duration `json:"-"` // until the first success of the probe, at most probeEvery too long
	Stop  time.Duration `json:"-"` // from the signal to the exit
	// PreStop is how long the hook took, which comes before the signal.
	PreStop  time.Duration `json:"-"`
	ExitCode int           `json:"exitCode"` // 128 and the number of a signal that ended it
	Killed   bool          `json:"killed"`   // the grace period was over before it exited
	// Of the requests after the signal and before the exit: those that got an answer, that were
	// refused, and that broke off. Refused says when the first one was refused, from the signal on;
	// -1: none was.
	Answered     int           `json:"answered"`
	Refused      int           `json:"refused"`
	Broken       int           `json:"broken"`
	FirstRefused time.Duration `json:"-"`
}

// probeEvery is the time between two probes of a start, and askEvery between two requests.
const (
	probeEvery = 50 * time.Millisecond
	askEvery   = 20 * time.Millisecond
)

// Probe returns the probe that waits for the program: the startup, the readiness or the liveness
// probe; nil if there is none.
func Probe(c *v1.Container) *v1.Probe {
	return cmp.Or(c.StartupProbe, c.ReadinessProbe, c.LivenessProbe)
}

// Commands returns the commands of a container that Measure runs: those of the probe that waits for
// the program, and of the preStop hook.
func Commands(c *v1.Container) (list []string) {
	if p := Probe(c); p != nil && p.Exec != nil {
		list = append(list, strings.Join(p.Exec.Command, " "))
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Exec != nil {
		list = append(list, strings.Join(c.Lifecycle.PreStop.Exec.Command, " "))
	}
	return list
}

// Measure runs the program. It returns the runs up to an error, and ends all processes in any case.
func Measure(ctx context.Context, o Options) (runs []Run, err error) {
	probe := Probe(o.Container)
	if probe == nil {
		return nil, fmt.Errorf("container %s has no probe, so nothing says when the program is up", o.Container.Name)
	}
	asked := &target{container: o.Container, ports: o.Ports}
	if up, _ := asked.probe(ctx, probe); up && probe.Exec == nil {
		return nil, errors.New("something answers the probe before the program runs: stop it, or map the port with " +
			"--port")
	}
	for i := range o.Runs {
		r, err := o.run(ctx, asked, probe)
		if err != nil {
			return runs, fmt.Errorf("run %d: %w", i+1, err)
		}
		if runs = append(runs, *r); o.Progress != nil {
			o.Progress(len(runs))
		}
	}
	return runs, nil
}

// process is the program.
type process struct {
	*exec.Cmd
	exited chan struct{}
}

func (o *Options) start() (*process, error) {
	p := &process{exec.Command(o.Command[0], o.Command[1:]...), make(chan struct{})}
	p.Stderr, p.Stdout = o.Stderr, o.Stderr
	p.WaitDelay = time.Second // a grandchild can keep the output open
	ownGroup(p.Cmd)
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("the program does not start: %w", err)
	}
	go func() {
		p.Wait()
		close(p.exited)
	}()
	return p, nil
}

// end kills the program and its children, and waits for it.
func (p *process) end() {
	killGroup(p.Cmd)
	<-p.exited
}

// run starts the program, waits until the probe succeeds, and stops it.
func (o *Options) run(ctx context.Context, asked *target, probe *v1.Probe) (*Run, error) {
	began := time.Now()
	p, err := o.start()
	if err != nil {
		return nil, err
	}
	defer p.end()
	r := &Run{FirstRefused: -1}
	if r.Start, err = o.waitUntilUp(ctx, p, asked, probe, began); err != nil {
		return nil, err
	}
	c := newClient(asked, probe)
	defer c.end()
	grace := time.After(o.grace())
	if err := o.preStop(ctx, r, asked, p); err != nil {
		return nil, err
	}
	signalled := time.Now()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("the signal cannot be sent: %w", err)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.exited:
		r.Stop = time.Since(signalled)
	case <-grace:
		r.Stop, r.Killed = time.Since(signalled), true
		p.end()
	}
	r.ExitCode = exitCode(p.ProcessState)
	c.end()
	c.tell(r, signalled)
	return r, nil
}

// waitUntilUp probes the program until it succeeds, and returns when that was.
func (o *Options) waitUntilUp(ctx context.Context, p *process, asked *target, probe *v1.Probe,
	began time.Time) (time.Duration, error) {
	last := "no probe has ended"
	for time.Since(began) < o.Within {
		at := time.Now()
		up, says := asked.probe(ctx, probe)
		if up {
			return time.Since(began), nil
		}
		last = says
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-p.exited:
			return 0, fmt.Errorf("the program ended with exit code %d before the probe succeeded: %s",
				exitCode(p.ProcessState), last)
		case <-time.After(probeEvery - time.Since(at)):
		}
	}
	if strings.Contains(last, "connection refused") {
		last += "\nIf the program listens on another port here, map the port of the container to it with --port"
	}
	return 0, fmt.Errorf("the probe has not succeeded within %s: %s", o.Within, last)
}

func (o *Options) grace() time.Duration {
	if g := o.Pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return time.Duration(*g) * time.Second
	}
	return 30 * time.Second
}

// preStop runs the hook, for the grace period at most. A hook that fails does not stop the stop
// (killContainer in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (o *Options) preStop(ctx context.Context, r *Run, asked *target, p *process) error {
	if o.Container.Lifecycle == nil || o.Container.Lifecycle.PreStop == nil {
		return nil
	}
	hook, began := o.Container.Lifecycle.PreStop, time.Now()
	ctx, cancel := context.WithTimeout(ctx, o.grace())
	defer cancel()
	switch {
	case hook.Sleep != nil:
		select {
		case <-time.After(time.Duration(hook.Sleep.Seconds) * time.Second):
		case <-p.exited:
		case <-ctx.Done():
		}
	case hook.Exec != nil:
		asked.exec(ctx, hook.Exec.Command)
	case hook.HTTPGet != nil:
		asked.get(ctx, hook.HTTPGet, o.grace())
	}
	r.PreStop = time.Since(began)
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return nil
}

// client sends requests while the program stops.
type client struct {
	once    sync.Once
	quit    context.CancelFunc
	done    chan struct{}
	mu      sync.Mutex
	answers []answer
}

type answer struct {
	began time.Time
	is    outcome
}

// outcome is what becomes of a request.
type outcome string

const (
	answered outcome = "answered"
	refused  outcome = "refused" // no connection
	broken   outcome = "broken"  // a connection without an answer
)

func newClient(asked *target, probe *v1.Probe) *client {
	ctx, quit := context.WithCancel(context.Background())
	c := &client{quit: quit, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		var requests sync.WaitGroup
		defer requests.Wait()
		for ctx.Err() == nil {
			requests.Go(func() {
				began := time.Now()
				is := asked.request(probe)
				c.mu.Lock()
				defer c.mu.Unlock()
				c.answers = append(c.answers, answer{began, is})
			})
			select {
			case <-ctx.Done():
			case <-time.After(askEvery):
			}
		}
	}()
	return c
}

// end stops the client and waits for its requests.
func (c *client) end() {
	c.once.Do(c.quit)
	<-c.done
}

// tell counts the requests after the signal. One just before the exit may have come after it.
func (c *client) tell(r *Run, signalled time.Time) {
	slices.SortFunc(c.answers, func(a, b answer) int { return a.began.Compare(b.began) })
	for _, a := range c.answers {
		after := a.began.Sub(signalled)
		switch {
		case after > r.Stop-askEvery || after < 0 && a.is != broken:
		case a.is == answered:
			r.Answered++
		case a.is == broken:
			r.Broken++
		case a.is == refused:
			if r.Refused++; r.FirstRefused < 0 {
				r.FirstRefused = max(after, 0)
			}
		}
	}
}
