package witness

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/podutil"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/trace"
)

// Subject is a container to run.
type Subject struct {
	*check.Admitted
	Container string
	Delays    fakeruntime.Delays
	Bounds    *bounds.Container
}

// Case is one node, and one program on it. The pod is added at t=0.
type Case struct {
	Uptime   time.Duration      // age of the kubelet at t=0
	Wall     time.Duration      // how far the wall clock steps forward at t=0; below a second
	Delays   fakeruntime.Delays // the latencies of the node
	InitRuns time.Duration      // how long the last init container before the container runs; 0: none
	// of what the kubelet leaves open; negative: the usual choices, and the middle of each latency
	Seed int64
	// the virtual time of a misfortune, or at which the program is up; 0: with the start of the
	// instance
	Event    time.Duration
	Rules    []format.RuleText // the program of the container. The last one is the misfortune, which lasts for ever
	Instance int               // that has the misfortune
}

// errNothing is the error of a run without an outcome, and of a case that does not count.
var errNothing = errors.New("nothing happens in the run")

// Run simulates the pod in a case. The run ends at the first record for which over returns true,
// which is the last one of the trace. If there is none up to a virtual time, it returns an error
// with all records.
func (s *Subject) Run(c *Case, until time.Duration, over func(*trace.Record) bool) (history, error) {
	planned, err := scenarios.Compile(s.Pod, s.behavior(c), scenarios.CompileOptions{Profile: s.Profile})
	if err != nil {
		return nil, fmt.Errorf("bug: the rules of a case are not valid: %w", err)
	}
	to := &trace.Recorder{Also: []trace.Kind{trace.Behavior}} // which shows each connection of a gRPC probe
	o := node.Options{Profile: s.Profile, Uptime: &c.Uptime, Delays: c.Delays, Trace: to}
	if c.Seed >= 0 {
		o.Seed = &c.Seed
	}
	begin := func(n *node.Node) {
		if c.Wall > 0 {
			n.StepClock(c.Wall)
		}
		n.AddAdmitted(s.Pod, planned[0].Program)
	}
	last := int64(0)
	err = s.Admitted.Run(o, begin, until, func(_ *node.Node, r *trace.Record) bool {
		if over(r) {
			last = r.Step
		}
		return last > 0
	})
	switch {
	case err != nil:
		return nil, err
	case last == 0:
		return to.Records(), errNothing
	}
	return to.Records()[:last], nil
}

// behavior returns the programs of the pod in a case.
func (s *Subject) behavior(c *Case) format.Behavior {
	b := format.Behavior{}
	if len(c.Rules) > 0 {
		b[s.Container] = c.Rules
	}
	if c.InitRuns > 0 {
		b[s.init()] = []format.RuleText{{After: c.InitRuns.String(), Exit: "0"}}
	}
	return b
}

// init returns the name of the last init container that must end before the container starts, or
// nothing.
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

// probes returns the types of the probes of the container.
func (s *Subject) probes() []trace.Probe {
	return slices.DeleteFunc(slices.Clone(trace.ProbeTypes),
		func(p trace.Probe) bool { return s.Bounds.Probe(p) == nil })
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// periods returns the shortest and the longest period of the probes.
func (s *Subject) periods() (shortest, longest time.Duration) {
	shortest, longest = bounds.LongestTime*time.Second, time.Second
	for _, p := range s.probes() {
		period := seconds(s.Bounds.Probe(p).PeriodSeconds)
		shortest, longest = min(shortest, period), max(longest, period)
	}
	return shortest, longest
}

// settles is a virtual time, and a time after the start of an instance, at which a healthy program
// has been up for a while, and each of its probes has succeeded.
func (s *Subject) settles() time.Duration {
	_, settles := s.periods()
	settles += 15 * time.Second
	for c := range podutil.Containers(&s.Pod.Spec) {
		settles += 2 * time.Second
		for _, d := range []*fakeruntime.Draw{s.Delays.RunPodSandbox, s.Delays.VolumeMount, s.Delays.ImagePull,
			s.Delays.CreateContainer, s.Delays.StartContainer} {
			if d != nil {
				settles += d.Max
			}
		}
		if hook := c.Lifecycle; hook != nil {
			settles += 10 * time.Second
			if hook.PostStart != nil && hook.PostStart.Sleep != nil {
				settles += time.Duration(hook.PostStart.Sleep.Seconds) * time.Second
			}
		}
	}
	for _, p := range s.probes() {
		probe := s.Bounds.Probe(p)
		settles += seconds(probe.InitialDelaySeconds +
			(probe.SuccessThreshold+1)*max(probe.PeriodSeconds, probe.TimeoutSeconds))
	}
	return settles
}
