package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// result is what is known of a container in one version. Without a simulation and bounds, it is not
// done, or has an error.
type result struct {
	profile           profile.Profile
	options           *Options
	container         *container
	*bounds.Container // without the probes that can never run
	simulation

	done        bool
	broken      map[trace.Probe]string // why a probe can never run
	cannotStart bool                   // because of probes that can never run, no figure has a meaning
	rows        map[RowID][]Value
	deleted     Deletion
	restarts    []time.Duration
	share       *float64 // of the starts that succeed, if it is known how long a start takes
	findings    []Finding
	err         error
}

// measure computes all rows of a container, finds what is wrong with its settings, and what helps.
// The error says why the API server or a node rejects its pod.
func (r *result) measure() error {
	if err := r.compute(); err != nil {
		return err
	}
	if !r.cannotStart && len(r.StartCases()) > 2 { // it restarts
		r.restarts = r.simulation.restarts()
	}
	r.chooseFixes()
	return nil
}

// compute computes all rows of a container, and finds what is wrong with its settings.
func (r *result) compute() error {
	name := r.container.spec.Name
	admitted, err := Admit(r.container.workload.Pod, r.profile)
	if err != nil {
		return err
	}
	r.simulation = simulation{admitted, name, r.options.Nodes, r.container.workload.terms.LongestStops()}
	if r.Container, err = admitted.Bounds(name, r.delays); err != nil {
		return err
	}
	r.broken, r.rows = r.brokenProbes(), map[RowID][]Value{}
	r.findings = append(findBroken(r.spec(), r.broken), otherHost(r)...)
	r.drop()
	left := slices.ContainsFunc(trace.ProbeTypes, func(p trace.Probe) bool { return r.Probe(p) != nil })
	// without a success of the startup probe, no other probe runs
	if r.cannotStart = hasProbes(r.container.spec) && !left || r.broken[trace.Startup] != ""; r.cannotStart {
		return nil
	}
	start := time.Duration(0)
	if known := r.container.start(); known != nil {
		start = known.Max
	}
	for _, row := range rows {
		if _, because := r.brokenFor(row.id); because == "" {
			r.rows[row.id] = Values(r.Container, row.id, start)
		}
	}
	if start := r.container.start(); start != nil {
		r.rows[Early] = early(r.Container, *start)
		if len(r.rows[Start]) > 0 {
			r.share = new(r.StartShare(start.Min, start.Max))
		}
	}
	r.deleted = r.simulation.deleted()
	if stop := r.container.stop(); stop != nil {
		exit := func(after time.Duration) time.Duration {
			return time.Duration(min(r.deleted.SIGTERM+value.Seconds(after), r.deleted.SIGKILL))
		}
		r.deleted.Exit = &value.Interval{Min: exit(stop.Min), Max: exit(stop.Max)}
	}
	for _, look := range finders {
		r.findings = append(r.findings, look(r)...)
	}
	r.sayWhatFollows()
	return nil
}

// drop removes the probes that can never run.
func (r *result) drop() {
	if len(r.broken) == 0 {
		return
	}
	r.Container = r.Without(slices.Sorted(maps.Keys(r.broken))...)
	admitted := *r.Admitted
	admitted.Pod = admitted.Pod.DeepCopy()
	r.Admitted = &admitted
	spec := r.spec()
	spec.StartupProbe, spec.LivenessProbe, spec.ReadinessProbe = r.Probe(trace.Startup), r.Probe(trace.Liveness),
		r.Probe(trace.Readiness)
}

// brokenFor returns a probe that can never run and without which a row of the container has no
// meaning, and why, if there is one.
func (r *result) brokenFor(id RowID) (p trace.Probe, because string) {
	for _, p := range trace.ProbeTypes {
		if r.broken[p] != "" && id.needs(p, r.container.spec) {
			return p, r.broken[p]
		}
	}
	return "", ""
}

// all returns the range of a row over its cases. It is zero if there is no such row.
func (r *result) all(id RowID) bounds.Range {
	return all(r.rows[id])
}

// repeats reports whether a row has the value of the row that it is like.
func (r *result) repeats(id RowID) bool {
	return id.Like() != "" && (r.all(id).Least-r.all(id.Like()).Least).Abs() < tenth
}

// all returns the range over some values.
func all(values []Value) (a bounds.Range) {
	for i, v := range values {
		if i == 0 {
			a = v.Range
		}
		a = a.Or(v.Range)
	}
	return a
}

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

// Admitted is a pod as the API server of a version stores it.
type Admitted struct{ workloads.Admitted }

// Admit returns the first pod that an object creates. The error says why the API server or a node
// would reject it.
func Admit(object manifests.APIObject, p profile.Profile) (*Admitted, error) {
	if pod, is := object.(*v1.Pod); is {
		object = withImages(pod)
	}
	admitted, err := workloads.Admit(object, p)
	if err != nil {
		return nil, err
	}
	return &Admitted{*admitted}, nil
}

// withImages returns a pod in which an image that is no reference, such as one that a build fills
// in, has another name: no figure depends on it.
func withImages(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	for _, c := range unknownImages(pod) {
		c.Image = "unknown"
	}
	return pod
}

// unknownImages returns the containers of a pod whose image is no reference.
func unknownImages(pod *v1.Pod) (list []*v1.Container) {
	for c := range podutil.Containers(&pod.Spec) {
		if !admission.IsImage(c.Image) {
			list = append(list, c)
		}
	}
	return list
}

// Run makes a run of a node, which begin adds the pod to, up to the first record for which over
// returns true, at most until a time.
func (a *Admitted) Run(o node.Options, begin func(*node.Node), until time.Duration,
	over func(*node.Node, *trace.Record) bool) error {
	n := node.New(o)
	defer n.Close()
	ended := false
	n.Observe(func(r *trace.Record) {
		if !ended && over(n, r) {
			ended = true
			n.Pause()
		}
	})
	n.At(0, func() { begin(n) })
	return n.RunUntil(virtual.At(until))
}

// Bounds returns a container of the pod on nodes with some delays.
func (a *Admitted) Bounds(container string, delays fakeruntime.Delays) (*bounds.Container, error) {
	return bounds.Of(bounds.Settings{Pod: a.Pod, Programs: a.Programs, Container: container, Profile: a.Profile,
		Delays: delays})
}
