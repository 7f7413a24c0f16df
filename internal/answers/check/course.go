package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/value"
	"probesim.dev/node"
	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// simulation is a container of a pod that runs on a node in the middle of the latencies.
type simulation struct {
	*Admitted
	container string
	delays    fakeruntime.Delays
	// how long other containers take from SIGTERM to their exit, at most; the others exit at once
	stops map[string]time.Duration
}

func (s *simulation) spec() *v1.Container { return podutil.Find(s.Pod, s.container) }

// oldKubelet is how much older than the periods of the probes the kubelet of a run is. It is not a
// whole number of seconds.
const oldKubelet = 1337 * time.Millisecond

// run simulates the pod with some rules for the program of the container, up to the first record
// for which over returns true, at most until a time.
func (s *simulation) run(rules []fakeruntime.Rule, until time.Duration, over func(*node.Node, *trace.Record) bool) {
	age := oldKubelet
	for _, p := range trace.ProbeTypes {
		if probe := prober.ProbeOf(s.spec(), p); probe != nil {
			age = max(age, oldKubelet+time.Duration(probe.PeriodSeconds)*time.Second)
		}
	}
	programs := s.Programs
	programs.Containers = map[string]fakeruntime.ContainerConfig{}
	maps.Copy(programs.Containers, s.Programs.Containers)
	config := programs.Containers[s.container]
	config.Program.Rules = slices.Concat(config.Program.Rules, rules)
	programs.Containers[s.container] = config
	for _, other := range slices.Sorted(maps.Keys(s.stops)) {
		if config := programs.Containers[other]; other != s.container {
			exits := fakeruntime.Rule{Clock: fakeruntime.AfterSigterm, From: fakeruntime.Exactly(s.stops[other]),
				Exit: &fakeruntime.Exit{}}
			config.Program.Rules = slices.Concat(config.Program.Rules, []fakeruntime.Rule{exits})
			programs.Containers[other] = config
		}
	}
	o := node.Options{Profile: s.Profile, Uptime: &age, Delays: s.delays,
		Trace: &trace.Recorder{Sink: func(*trace.Record) {}}}
	_ = s.Run(o, func(n *node.Node) { n.AddAdmitted(s.Pod, programs) }, until, over) // nothing interrupts it
}

// restartsWithin is the time in which restarts of a container that never comes up are listed.
const restartsWithin = 20 * time.Minute

// restarts returns when the instances of the container start, after its first start, if its program
// refuses all probes. The exit code after a stop is one with which the container restarts.
func (s *simulation) restarts() []time.Duration {
	spec := s.spec()
	refuses := func(p trace.Probe) *fakeruntime.Series {
		probe := prober.ProbeOf(spec, p)
		if probe == nil {
			return nil
		}
		answer := fakeruntime.Answer{Word: fakeruntime.Refuses}
		if probe.Exec != nil {
			answer = fakeruntime.Answer{Word: fakeruntime.Answers, Code: 1}
		}
		return &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: answer, Count: 1}}}
	}
	ends := fakeruntime.Rule{Clock: fakeruntime.AfterSigterm, Exit: &fakeruntime.Exit{}}
	if !podutil.ContainerShouldRestart(spec, &s.Pod.Spec, 0) {
		ends.Exit.Code = 1
	}
	down := fakeruntime.Rule{Startup: refuses(trace.Startup), Liveness: refuses(trace.Liveness),
		Readiness: refuses(trace.Readiness)}
	var first virtual.Time
	var starts []time.Duration
	s.run([]fakeruntime.Rule{down, ends}, restartsWithin, func(_ *node.Node, r *trace.Record) bool {
		if r.Kind == trace.ContainerStarted && r.Container == s.container {
			if r.Instance == 0 {
				first = r.T
			}
			starts = append(starts, r.T.Sub(first))
		}
		return false
	})
	return starts
}

// deletedAfter is how long all containers have run when their pod is deleted. It is no multiple of
// the period of a probe.
const deletedAfter = 31337 * time.Millisecond

// Deleted returns what happens to a container after the deletion of its pod, on nodes with some
// delays, if its program ignores the stop signal. The others exit as the terms say.
func (a *Admitted) Deleted(container string, nodes fakeruntime.Delays, terms *Terms) Deletion {
	return (&simulation{a, container, nodes, terms.LongestStops()}).deleted()
}

// deleted returns what happens to a healthy container after the deletion of its pod, if its program
// ignores the stop signal.
func (s *simulation) deleted() Deletion {
	d := Deletion{Condition: strings.Join(s.stopWaitsFor(), " and ")}
	var at virtual.Time
	ignores := fakeruntime.Rule{Clock: fakeruntime.AfterSigterm, Exit: &fakeruntime.Exit{Never: true}}
	until := time.Hour + 2*time.Duration(*s.Pod.Spec.TerminationGracePeriodSeconds)*time.Second
	left := len(s.Pod.Spec.InitContainers) + len(s.Pod.Spec.Containers)
	s.run([]fakeruntime.Rule{ignores}, until, func(n *node.Node, r *trace.Record) bool {
		if r.Kind == trace.ContainerStarted && r.Instance == 0 {
			if left--; left == 0 {
				n.At(r.T.Add(deletedAfter), func() { n.DeletePod(s.Pod.Namespace, s.Pod.Name, nil) })
			}
		}
		switch {
		case r.Kind == trace.ContainerStarted && r.Instance == 0:
			at = r.T.Add(deletedAfter)
		case r.Container != s.container || r.T < at:
		case r.Kind == trace.ContainerStopping:
			d.SIGTERM = value.Seconds(r.T.Sub(at))
		case r.Kind == trace.ContainerExited:
			d.SIGKILL = value.Seconds(r.T.Sub(at))
			return true
		}
		return false
	})
	return d
}

// stopWaitsFor says what the stop signal waits for that nobody knows: the end of a preStop hook,
// and of the containers that a sidecar serves, which get the signal before (newTerminationOrdering
// in pkg/kubelet/kuberuntime/kuberuntime_termination_order.go at v1.37.0).
func (s *simulation) stopWaitsFor() (list []string) {
	spec := s.spec()
	if hook := spec.Lifecycle; hook != nil && hook.PreStop != nil {
		known := hook.PreStop.Sleep != nil
		if exec := hook.PreStop.Exec; exec != nil {
			_, known = program.SleepOf(exec.Command)
		}
		if !known {
			list = append(list, "once its preStop hook has ended")
		}
	}
	if !podutil.IsRestartableInitContainer(spec) {
		return list
	}
	var names []string
	before := true
	for c := range podutil.Containers(&s.Pod.Spec) {
		if served := !before && !podutil.IsInit(&s.Pod.Spec, c); served {
			if _, known := s.stops[c.Name]; !known {
				names = append(names, c.Name)
			}
		}
		before = before && c.Name != s.container
	}
	if len(names) == 0 {
		return list
	}
	has := "has"
	if len(names) > 1 {
		has = "have"
	}
	return append(list, fmt.Sprintf("once %s %s exited", strings.Join(names, ", "), has))
}
