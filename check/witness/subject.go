package witness

import (
	"errors"
	"maps"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Subject is a container to run.
type Subject struct {
	*check.Admitted
	Container string
	Delays    fakeruntime.Delays // the ranges of the nodes
	Bounds    *bounds.Container
}

// Case is one node, and one program on it. The pod is added at t=0.
type Case struct {
	Uptime   time.Duration      // age of the kubelet at t=0
	Wall     time.Duration      // how far the wall clock steps forward at t=0; below a second
	Delays   fakeruntime.Delays // the latencies of the node
	InitRuns time.Duration      // how long the last init container before the container runs; 0: none
	Seed     int64              // of what the kubelet leaves open; negative: the usual choices, and the middle of each latency
	Event    time.Duration      // the virtual time of a misfortune, or at which the program is up; 0: with the start of the instance
	Rules    []Rule             // the program of the container. The last one is the misfortune, which lasts for ever
	Instance int                // that has the misfortune
}

// Rule is one statement about the program of the container: it has a misfortune in a window, or it exits.
type Rule struct {
	Instance   int               // the instance to which the rule applies; AnyInstance for all
	Clock      fakeruntime.Clock // the moment from which From counts
	From       time.Duration
	For        time.Duration // the length of the misfortune; 0: for ever
	Misfortune bounds.Misfortune
	Exit       int32 // the exit code, if there is no misfortune
	NeverExits bool  // the program ignores the stop signal
}

// AnyInstance is the Instance of a rule for all instances.
const AnyInstance = -1

// probe returns a probe of the container, or nil.
func (s *Subject) probe(p trace.Probe) *v1.Probe { return s.Bounds.Probe(p) }

// period, timeout and delay are times of a probe that the container has.
func (s *Subject) period(p trace.Probe) time.Duration  { return seconds(s.probe(p).PeriodSeconds) }
func (s *Subject) timeout(p trace.Probe) time.Duration { return seconds(s.probe(p).TimeoutSeconds) }
func (s *Subject) delay(p trace.Probe) time.Duration   { return seconds(s.probe(p).InitialDelaySeconds) }

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// probes returns the probes of the container.
func (s *Subject) probes() []trace.Probe {
	var list []trace.Probe
	for _, p := range trace.ProbeTypes {
		if s.probe(p) != nil {
			list = append(list, p)
		}
	}
	return list
}

// periods returns the shortest and the longest period of the probes.
func (s *Subject) periods() (shortest, longest time.Duration) {
	for _, p := range s.probes() {
		if longest = max(longest, s.period(p)); shortest == 0 || s.period(p) < shortest {
			shortest = s.period(p)
		}
	}
	return max(shortest, time.Second), max(longest, time.Second)
}

// settles is a time after the start of the container at which a healthy program has been up for a while, and each of its probes has succeeded.
func (s *Subject) settles() time.Duration {
	settles := 10 * time.Second
	for _, p := range s.probes() {
		settles += s.delay(p) + time.Duration(max(1, s.probe(p).SuccessThreshold)+1)*max(s.period(p), s.timeout(p))
	}
	return settles
}

// longestRun is the virtual time after which a run ends without an outcome.
func (s *Subject) longestRun() time.Duration {
	longest := time.Hour
	for _, p := range s.probes() {
		if takes := s.delay(p) + time.Duration(s.probe(p).FailureThreshold)*max(s.period(p), s.timeout(p)); takes <= bounds.LongestLimit {
			longest += 3 * takes
		}
	}
	return longest
}

// errNothing is the error of a run without an outcome, and of a case that does not count.
var errNothing = errors.New("nothing happens in the run")

// history is the beginning of a trace. Its last record is the outcome that ended the run.
type history []trace.Record

// run simulates the pod in a case. The run ends at the first record for which over returns true. If there is none up to a virtual time, the error is errNothing. The
// history then has all records.
func (s *Subject) run(c *Case, until time.Duration, over func(*trace.Record) bool) (history, error) {
	to := &trace.Recorder{}
	if s.reconnects() {
		to.Also = trace.Behavior // shows the connections of probes
	}
	o := node.Options{Profile: s.Profile, Uptime: &c.Uptime, Delays: c.Delays, Trace: to}
	if c.Seed >= 0 {
		o.Seed = &c.Seed
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
		n.AddAdmitted(s.Pod, s.with(c))
	})
	if err := n.RunUntil(virtual.At(until)); err != nil {
		return nil, err
	}
	if last == 0 {
		return to.Records(), errNothing
	}
	return to.Records()[:last], nil
}

// with returns the programs of the pod with the further rules of a case.
func (s *Subject) with(c *Case) fakeruntime.Pod {
	p := s.Programs
	if p.Containers = maps.Clone(p.Containers); p.Containers == nil {
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

// init returns the name of the last init container that must end before the container starts, or nothing.
func (s *Subject) init() string {
	name := ""
	for i := range s.Pod.Spec.InitContainers {
		c := &s.Pod.Spec.InitContainers[i]
		if c.Name == s.Container {
			break
		}
		if !podutil.IsRestartableInitContainer(c) {
			name = c.Name
		}
	}
	return name
}

// rule returns the rule for the fake runtime.
func (s *Subject) rule(r Rule) fakeruntime.Rule {
	c := fakeruntime.Rule{Clock: r.Clock, From: fakeruntime.Exactly(r.From)}
	if r.Instance != AnyInstance {
		c.Instance = fakeruntime.Range{Min: r.Instance, Max: r.Instance, Set: true}
	}
	if r.For > 0 {
		c.For = &fakeruntime.Draw{Min: r.For, Max: r.For}
	}
	if r.Misfortune == "" {
		c.Exit = &fakeruntime.Exit{Code: r.Exit, Never: r.NeverExits}
		return c
	}
	c.Liveness, c.Readiness, c.Startup = s.series(r.Misfortune, trace.Liveness), s.series(r.Misfortune, trace.Readiness), s.series(r.Misfortune, trace.Startup)
	return c
}

// series returns the answers to a probe during a misfortune, or nil if there is no such probe.
func (s *Subject) series(m bounds.Misfortune, p trace.Probe) *fakeruntime.Series {
	probe := s.probe(p)
	if probe == nil {
		return nil
	}
	answer := fakeruntime.Answer{Word: fakeruntime.Word(m)}
	switch {
	case m == bounds.Refuse && probe.Exec != nil:
		answer = fakeruntime.Answer{Word: fakeruntime.Answers, Code: 1}
	case m == bounds.Stall && probe.TCPSocket != nil: // the kernel of the node accepts connections for a program that stands still
		answer = fakeruntime.Answer{Word: fakeruntime.Answers}
	}
	return &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: answer, Count: 1}}}
}

// node draws the latencies and the phases of a node.
func (s *Subject) node(p *Phases) Case {
	_, longest := s.periods()
	c := Case{Seed: int64(p.part("seed") * 1e6), Uptime: p.in("uptime", longest+time.Second, longest+21*time.Second)}
	own, all := reflect.ValueOf(&c.Delays).Elem(), reflect.ValueOf(s.Delays)
	for i := range own.NumField() {
		if r := all.Field(i).Interface().(*fakeruntime.Draw); r != nil {
			x := fakeruntime.Exactly(p.edge(own.Type().Field(i).Name, r.Min, r.Max))
			own.Field(i).Set(reflect.ValueOf(&x))
		}
	}
	for _, of := range s.probes() {
		if s.delay(of) > 0 {
			c.Wall = p.in("wall", 0, time.Second-1)
		}
	}
	if s.init() != "" {
		c.InitRuns = time.Second + p.in("init", 0, longest)
	}
	return c
}

// reconnects reports whether a probe of the container connects more than once in a run that the program refuses.
func (s *Subject) reconnects() bool {
	for _, p := range s.probes() {
		if s.probe(p).GRPC != nil {
			return true
		}
	}
	return false
}

// answer returns the latency of the answers to a probe on the node of a case.
func (s *Subject) answer(c *Case, p trace.Probe) time.Duration {
	usual := fakeruntime.DefaultDelays()
	pick := func(own, default_ *fakeruntime.Draw) time.Duration {
		if own == nil {
			own = default_
		}
		return own.Min + (own.Max-own.Min)/2
	}
	switch probe := s.probe(p); {
	case probe.Exec != nil:
		return pick(c.Delays.Exec, usual.Exec)
	case probe.TCPSocket != nil:
		return pick(c.Delays.TCPSocket, usual.TCPSocket)
	case probe.GRPC != nil:
		return pick(c.Delays.GRPC, usual.GRPC)
	}
	return pick(c.Delays.HTTPGet, usual.HTTPGet)
}
