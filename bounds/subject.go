package bounds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
	"probesim.dev/kubelet"
	"probesim.dev/node"
	"probesim.dev/prober"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

const (
	startJitter = prober.StartJitter
	syncJitter  = kubelet.RequeueJitter
)

// Subject is a container whose bounds to find. The other containers of its pod are healthy. A Subject is not safe for concurrent
// use.
type Subject struct {
	Profile   profile.Profile
	Container string
	// Context ends the search for a bound early if it is done. Nil: nothing does.
	Context context.Context
	// EndsOnly says that only the ends of bounds matter, and not the cases that show them. A bound with derived ends then takes a run or two,
	// and its cases are any.
	EndsOnly bool
	// Runs is the number of runs so far.
	Runs int

	searchesOn bool // for cases beyond derived ends, as tests do

	pod     *v1.Pod
	program fakeruntime.Pod
	buffer  []trace.Record       // of the history of the last run
	before  func(*node.Node)     // schedules further changes of a run; nil: none
	seen    map[string]landmarks // of the cases of a search by their keys
}

// NewSubject returns the subject for a container of an object that creates pods, such as a Pod or a Deployment. It returns an
// error if the API server would reject the object, and if the pods do not have the container.
func NewSubject(object manifests.APIObject, container string, p profile.Profile) (*Subject, error) {
	planned, err := scenarios.Compile(object, nil, scenarios.CompileOptions{Profile: p})
	switch {
	case err != nil:
		return nil, err
	case len(planned) == 0:
		return nil, fmt.Errorf("%s creates no pods", object.GetName())
	case podutil.Find(planned[0].Pod, container) == nil:
		return nil, fmt.Errorf("the pods of %s have no container %q", object.GetName(), container)
	}
	s := &Subject{Profile: p, Container: container, program: planned[0].Program}
	if s.pod, err = admitted(p, &planned[0]); err != nil {
		return nil, err
	}
	return s, s.checkTimes()
}

// admitted returns a pod as the API server stores it, or the error of a node that gets the pod.
func admitted(p profile.Profile, planned *plan.PlannedPod) (*v1.Pod, error) {
	n := node.New(node.Options{Profile: p})
	defer n.Close()
	if err := n.AddPod(planned.Pod, planned.Program); err != nil {
		return nil, err
	}
	return admission.Admit(p, planned.Pod)
}

// LongestTime is the maximum, in seconds, of the times in the settings of a probe. A search for bounds with longer ones would take too long.
const LongestTime = 3600

// LongestGracePeriod is the maximum, in seconds, of a terminationGracePeriodSeconds: a week.
const LongestGracePeriod = 7 * 24 * 3600

// checkTimes returns an error if a time of the pod or in a probe is too long.
func (s *Subject) checkTimes() error {
	tooLong := func(grace *int64, of string) error {
		if grace != nil && *grace > LongestGracePeriod {
			return fmt.Errorf("terminationGracePeriodSeconds of %s is %d; bounds need at most %d", of, *grace, LongestGracePeriod)
		}
		return nil
	}
	if err := tooLong(s.pod.Spec.TerminationGracePeriodSeconds, "the pod"); err != nil {
		return err
	}
	for _, p := range trace.ProbeTypes {
		probe := s.Probe(p)
		if probe == nil {
			continue
		}
		if err := tooLong(probe.TerminationGracePeriodSeconds, fmt.Sprintf("the %s probe of container %s", p, s.Container)); err != nil {
			return err
		}
		for _, field := range []struct {
			name    string
			seconds int32
		}{{"periodSeconds", probe.PeriodSeconds}, {"timeoutSeconds", probe.TimeoutSeconds}, {"initialDelaySeconds", probe.InitialDelaySeconds}} {
			if field.seconds > LongestTime {
				return fmt.Errorf("container %s: %s of the %s probe is %d; bounds need at most %d", s.Container, field.name, p, field.seconds, LongestTime)
			}
		}
	}
	return nil
}

// Pod returns the pod of the subject, with its defaults. Do not change it.
func (s *Subject) Pod() *v1.Pod { return s.pod }

// LongestLimit is the greatest limit or time that bounds determine. A longer one counts as none.
const LongestLimit = 6 * time.Hour

// horizon is the virtual time after which a run ends without a result, if the probes of its container need no longer.
const horizon = LongestLimit

// longestRun is the virtual time after which a run ends without a result. Several instances can need as long as the slowest probe takes to stop one.
// A probe that takes longer than LongestLimit never stops one.
func (s *Subject) longestRun() time.Duration {
	var slowest time.Duration
	for _, p := range trace.ProbeTypes {
		if s.Probe(p) == nil {
			continue
		}
		if takes := s.stopsWithin(p); takes <= LongestLimit {
			slowest = max(slowest, takes)
		}
	}
	return horizon + 2*slowest
}

// stopsWithin is about how long a probe takes to stop the container.
func (s *Subject) stopsWithin(p trace.Probe) time.Duration {
	return s.delay(p) + s.failures(p)*max(s.period(p), s.timeout(p))
}

// errNothing is the error of a run without an outcome.
var errNothing = errors.New("a limit or a time is longer than a run can last: six hours, or more with slow probes")

// run simulates the pod in a case. The rules of the case win over the subject's own. The run ends at the first record for which
// over returns true. If there is none before the end of the longest run, run returns errNothing. The history is valid until the next run.
func (s *Subject) run(c *Case, over func(*trace.Record) bool) (history, error) {
	return s.record(c, s.recorder(""), s.longestRun(), over)
}

// watch is run without a history, up to a virtual time.
func (s *Subject) watch(c *Case, until time.Duration, over func(*trace.Record) bool) error {
	_, err := s.record(c, &trace.Recorder{Sink: func(*trace.Record) {}}, until, over)
	return err
}

// recorder returns a recorder for a history that is valid until the next run. It includes an internal kind of record, if also names one.
func (s *Subject) recorder(also trace.Kind) *trace.Recorder {
	if s.buffer == nil {
		s.buffer = make([]trace.Record, 0, bufferSize)
	}
	return &trace.Recorder{Also: also, Buffer: s.buffer}
}

// bufferSize is the number of records of a long run.
const bufferSize = 1 << 11

// record is run with a recorder, up to a virtual time. It returns the history with errNothing too.
func (s *Subject) record(c *Case, to *trace.Recorder, until time.Duration, over func(*trace.Record) bool) (history, error) {
	s.Runs++
	o := node.Options{Profile: s.Profile, Uptime: &c.Uptime, Delays: c.Delays, Trace: to}
	switch {
	case c.noted != nil:
		o.Chooser = c.noted
	case c.Seed != nil:
		o.Seed = c.Seed
	case c.decidesJitter() || c.order != "":
		o.Chooser = c
	}
	if s.Context != nil {
		if err := s.Context.Err(); err != nil { // most runs are over before the node asks for the first time
			return nil, err
		}
		o.Interrupt = s.Context.Err
	}
	n := node.New(o)
	defer n.Close()
	var last int64
	n.Observe(func(r *trace.Record) {
		if last == 0 && over(r) {
			last = r.Step
			n.Pause()
		}
	})
	n.At(0, func() {
		if c.Wall > 0 {
			n.StepClock(c.Wall)
		}
		n.AddAdmitted(s.pod, s.with(c)) // the first pod of the node
	})
	if s.before != nil {
		s.before(n)
	}
	if err := n.RunUntil(virtual.At(until)); err != nil {
		return nil, err
	}
	switch {
	case to.Sink != nil && last == 0:
		return nil, errNothing
	case to.Sink != nil:
		return nil, nil
	case last == 0:
		return to.Records(), errNothing
	}
	return to.Records()[:last], nil
}

// with returns the programs of the pod with the further rules of a case.
func (s *Subject) with(c *Case) fakeruntime.Pod {
	p := s.program
	p.Containers = maps.Clone(s.program.Containers)
	if p.Containers == nil {
		p.Containers = map[string]fakeruntime.ContainerConfig{}
	}
	add := func(container string, r fakeruntime.Rule) {
		config := p.Containers[container]
		config.Program.Rules = append(config.Program.Rules[:len(config.Program.Rules):len(config.Program.Rules)], r)
		p.Containers[container] = config
	}
	for _, r := range c.Rules {
		add(s.Container, s.rule(r))
	}
	if c.InitRuns > 0 {
		add(s.init(), fakeruntime.Rule{From: fakeruntime.Exactly(c.InitRuns), Exit: &fakeruntime.Exit{}})
	}
	return p
}

// initRuns is how long an init container runs if nothing else is said.
const initRuns = time.Second

// init returns the name of the last init container that must end before the container starts, or nothing.
func (s *Subject) init() string {
	name := ""
	for i := range s.pod.Spec.InitContainers {
		c := &s.pod.Spec.InitContainers[i]
		if c.Name == s.Container {
			break
		}
		if !podutil.IsRestartableInitContainer(c) {
			name = c.Name
		}
	}
	return name
}

// container returns the container of the subject.
func (s *Subject) container() *v1.Container { return podutil.Find(s.pod, s.Container) }

// Probe returns the container's probe of a type, or nil.
func (s *Subject) Probe(p trace.Probe) *v1.Probe { return prober.ProbeOf(s.container(), p) }

// Drop removes probes from the container, such as those that can never run.
func (s *Subject) Drop(probes []trace.Probe) {
	if len(probes) == 0 {
		return
	}
	s.pod = s.pod.DeepCopy()
	for _, p := range probes {
		switch p {
		case trace.Startup:
			s.container().StartupProbe = nil
		case trace.Liveness:
			s.container().LivenessProbe = nil
		case trace.Readiness:
			s.container().ReadinessProbe = nil
		}
	}
}

// periods returns the shortest and the longest period of the container's probes.
func (s *Subject) periods() (shortest, longest time.Duration) {
	for _, p := range trace.ProbeTypes {
		if probe := s.Probe(p); probe != nil {
			period := time.Duration(probe.PeriodSeconds) * time.Second
			longest = max(longest, period)
			if shortest == 0 || period < shortest {
				shortest = period
			}
		}
	}
	return max(shortest, time.Second), max(longest, time.Second)
}

// center returns the case in the middle of the nodes, with a kubelet that is older than the periods of all probes.
func (s *Subject) center(n Nodes) Case {
	return Case{Uptime: s.old(), Delays: n.Delays, StartJitter: 0.5, SyncJitter: 0.5}
}

// old is the age of a kubelet that draws no jitter for the probes of the container (run in pkg/kubelet/prober/worker.go at
// v1.37.0). It is not a whole number of seconds.
func (s *Subject) old() time.Duration {
	_, longest := s.periods()
	return longest + 1337*time.Millisecond
}

// delayed reports whether a probe that decides has initialDelaySeconds.
func (s *Subject) delayed(c *Case) bool {
	return slices.ContainsFunc(s.deciding(c), func(p trace.Probe) bool { return s.Probe(p).InitialDelaySeconds > 0 })
}

// hooked reports whether a hook runs when the container has started. The kubelet shows the start after the hook.
func (s *Subject) hooked() bool {
	c := s.container()
	return c.Lifecycle != nil && c.Lifecycle.PostStart != nil
}

// started reports whether an instance of the container starts.
func (s *Subject) started(instance int) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		return r.Kind == trace.ContainerStarted && r.Container == s.Container && r.Instance == instance
	}
}

// exited reports whether an instance of the container exits.
func (s *Subject) exited(instance int) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		return r.Kind == trace.ContainerExited && r.Container == s.Container && r.Instance == instance
	}
}

// stopped reports whether an instance of the container gets the stop signal.
func (s *Subject) stopped(instance int) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		return r.Kind == trace.ContainerStopping && r.Container == s.Container && r.Instance == instance
	}
}

// succeeds reports whether a run of a probe succeeds.
func (s *Subject) succeeds(p trace.Probe) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		return r.Kind == trace.ProbeExecuted && r.Probe == p && r.Container == s.Container && r.Result == trace.Success
	}
}

// ready and unready report whether a status in the API says that the container is or is not ready.
func (s *Subject) ready(r *trace.Record) bool   { return s.Patched(r, true) }
func (s *Subject) unready(r *trace.Record) bool { return s.Patched(r, false) }

// Patched reports whether a record is of a status in the API that says that the container is ready, or that it is not. The pod can have
// other containers that are not.
func (s *Subject) Patched(r *trace.Record, ready bool) bool {
	if r.Kind != trace.StatusPatched || r.Status == nil {
		return false
	}
	for i := range r.Status.Containers {
		if c := &r.Status.Containers[i]; c.Name == s.Container {
			return c.Ready == ready
		}
	}
	return false
}
