package witness

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
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
	Rules    []format.RuleText  // the program of the container. The last one is the misfortune, which lasts for ever
	Instance int                // that has the misfortune
}

// errNothing is the error of a run without an outcome, and of a case that does not count.
var errNothing = errors.New("nothing happens in the run")

// Run simulates the pod in a case. The run ends at the first record for which over returns true, which is the last one of the trace. If there is none up to a
// virtual time, it returns an error with all records.
func (s *Subject) Run(c *Case, until time.Duration, over func(*trace.Record) bool) ([]trace.Record, error) {
	planned, err := scenarios.Compile(s.Pod, s.behavior(c), scenarios.CompileOptions{Profile: s.Profile})
	if err != nil {
		return nil, fmt.Errorf("bug: the rules of a case are not valid: %w", err)
	}
	to := &trace.Recorder{Also: trace.Behavior} // which shows each connection of a gRPC probe
	o := node.Options{Profile: s.Profile, Uptime: &c.Uptime, Delays: c.Delays, Trace: to}
	if c.Seed >= 0 {
		o.Seed = &c.Seed
	}
	n := node.New(o)
	defer n.Close()
	last := int64(0)
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
		n.AddAdmitted(s.Pod, planned[0].Program)
	})
	if err := n.RunUntil(virtual.At(until)); err != nil {
		return nil, err
	}
	if last == 0 {
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

// probes returns the types of the probes of the container.
func (s *Subject) probes() []trace.Probe {
	var list []trace.Probe
	for _, p := range trace.ProbeTypes {
		if s.Bounds.Probe(p) != nil {
			list = append(list, p)
		}
	}
	return list
}

func (s *Subject) timeout(p trace.Probe) time.Duration {
	return seconds(s.Bounds.Probe(p).TimeoutSeconds)
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// lasts is the longer one of the period and the timeout of a probe.
func lasts(p *v1.Probe) time.Duration { return seconds(max(p.PeriodSeconds, p.TimeoutSeconds)) }

// periods returns the shortest and the longest period of the probes.
func (s *Subject) periods() (shortest, longest time.Duration) {
	for _, p := range s.probes() {
		period := seconds(s.Bounds.Probe(p).PeriodSeconds)
		if longest = max(longest, period); shortest == 0 || period < shortest {
			shortest = period
		}
	}
	return max(shortest, time.Second), max(longest, time.Second)
}

// startsWithin is a virtual time within which the container has started on each of the nodes.
func (s *Subject) startsWithin() time.Duration {
	_, within := s.periods()
	each := 2 * time.Second
	for _, d := range []*fakeruntime.Draw{s.Delays.RunPodSandbox, s.Delays.VolumeMount, s.Delays.ImagePull, s.Delays.CreateContainer, s.Delays.StartContainer} {
		if d != nil {
			each += d.Max
		}
	}
	for c := range podutil.Containers(&s.Pod.Spec) {
		within += each
		if c.Lifecycle != nil {
			within += 10 * time.Second
			if hook := c.Lifecycle.PostStart; hook != nil && hook.Sleep != nil {
				within += time.Duration(hook.Sleep.Seconds) * time.Second
			}
		}
	}
	return within + 5*time.Second
}

// settles is a time after the start of the container at which a healthy program has been up for a while, and each of its probes has succeeded.
func (s *Subject) settles() time.Duration {
	settles := 10 * time.Second
	for _, p := range s.probes() {
		probe := s.Bounds.Probe(p)
		settles += seconds(probe.InitialDelaySeconds) + time.Duration(probe.SuccessThreshold+1)*lasts(probe)
	}
	return settles
}

// longestRun is the virtual time after which a run ends without an outcome.
func (s *Subject) longestRun() time.Duration {
	longest := time.Hour
	for _, p := range s.probes() {
		probe := s.Bounds.Probe(p)
		if takes := seconds(probe.InitialDelaySeconds) + time.Duration(probe.FailureThreshold)*lasts(probe); takes <= bounds.LongestLimit {
			longest += 3 * takes
		}
	}
	return longest
}
