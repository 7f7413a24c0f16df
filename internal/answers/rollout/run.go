package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/router"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// outcome is what happens in a run.
type outcome struct {
	steady   bool          // all pods were available before the change
	took     time.Duration // until the rollout is complete; 0: it is not
	gone     time.Duration // until the last old pod is gone
	pods     int           // the most at once
	deadline time.Duration // when its progress deadline was over; 0: it was not
	standing time.Duration // the longest time without progress, until it is complete
	ready    int32         // the fewest Ready replicas in the status
	last     int32         // Ready replicas at the end
	outage   time.Duration // the longest time without a Ready pod
	requests float64       // to a Service: see Lost
	losses                 // of the Service that loses most
	each     []losses      // of the Services that are counted
	needs    time.Duration // the preStop sleep that the run needs to lose nothing
	needed   bool          // a pod was deleted, so there are needs
	helpless bool          // requests are lost for another reason than that a pod stops too early
	waited   bool          // kube-proxy dropped a pod that lost requests only after minSyncPeriod
	lingers  bool          // the rollout is complete, and old pods were there at the end of the run
	restarts int           // of containers in new pods
	killed   string        // the last probe or hook that restarted one
	changed  virtual.Time  // when the change was made
	end      virtual.Time  // of the run
	unready  string        // the last message of a probe that failed in a new pod, or in a pod before the change
}

// losses are the lost requests of a Service.
type losses struct {
	lost  float64
	parts []Part
}

// partOf returns the part of a list with a reason and with pods, which may be a new part.
func partOf(list *[]Part, reason, pods string) *Part {
	i := slices.IndexFunc(*list, func(p Part) bool { return p.Reason == reason && p.Pods == pods })
	if i < 0 {
		i = len(*list)
		*list = append(*list, Part{Reason: reason, Pods: pods})
	}
	return &(*list)[i]
}

// run is a rollout in one run.
type run struct {
	*workload
	o       *Options
	seed    int64
	healthy map[bool]fakeruntime.Pod // programs of the old and the new template
	targets []*target                // that are counted

	n       *node.Node
	fold    *traffic.Fold
	outcome outcome

	generation int64 // of the Deployment before the change
	undone     bool  // the first of two rollouts, of undo, is complete
	asked      bool  // the change is scheduled
	changed    virtual.Time
	finished   virtual.Time // the last pod is gone, or the last loss ends
	down       virtual.Time // since then no pod is Ready; 0: one is
	ended      bool

	before      map[string]bool // pods before the change
	pods        map[string]bool // that are there
	health      fakeruntime.Health
	kubeletDown bool
	progress    progress
	terminating map[string]bool
	stops       map[string][]stop // by pod, and then as the Services
	windows     map[window]virtual.Span
}

// window is where and why requests are lost. A loss of the trace ends, and another one begins, when
// the share of the pod changes.
type window struct{ service, pod, reason string }

// progress is the last status of the Deployment, and when it showed progress, as upstream's
// DeploymentProgressing finds it.
type progress struct {
	trace.Workload
	at virtual.Time
}

// stop is the end of a pod, for a Service.
type stop struct {
	refused, exited, dropped virtual.Time
	target                   bool
}

// stopsOf returns the ends of the container of a record for the Services that it serves.
func (r *run) stopsOf(record *trace.Record) (list []*stop) {
	if stops := r.stops[record.Pod]; stops != nil {
		for i, t := range r.targets {
			if t.container == record.Container {
				list = append(list, &stops[i])
			}
		}
	}
	return list
}

// limit is how long a rollout may take in a run, and settling how long the pods before it may.
const (
	limit    = 2 * time.Hour
	settling = 30 * time.Minute
)

// simulate makes a run.
func (w *workload) simulate(ctx context.Context, o *Options, healthy map[bool]fakeruntime.Pod, seed int64) (outcome,
	error) {
	r := &run{workload: w, o: o, seed: seed, healthy: healthy, targets: w.counted(), before: map[string]bool{},
		pods: map[string]bool{}, terminating: map[string]bool{}, stops: map[string][]stop{},
		windows: map[window]virtual.Span{}}
	r.outcome.ready = math.MaxInt32
	uptime := node.DefaultUptime + time.Duration(r.fraction("uptime")*float64(10*time.Second))
	control := node.ControlPlane{Delays: o.control()}
	if lb := o.routing(); lb.Name != router.KubeProxy {
		if w.router.gate != "" { // a pod is Ready only when it has been added
			lb.AddLeast, lb.AddMost = 0, 0
		}
		control.LoadBalancers = []router.LoadBalancer{lb}
	}
	recorder := &trace.Recorder{Sink: func(*trace.Record) {}}
	if w.shown != nil {
		recorder = &w.shown.recorder
	}
	r.n = node.New(node.Options{
		Profile: o.Profile, Uptime: &uptime, Seed: &seed, Delays: o.nodes(), ControlPlane: &control,
		Trace: recorder, Interrupt: ctx.Err,
	})
	defer r.n.Close()
	r.send()
	var err error
	r.n.Observe(r.observe)
	r.n.At(0, func() {
		err = r.n.AddWorkload(w.old, r.program)
		for i := range w.targets {
			err = cmp.Or(err, r.n.AddService(w.targets[i].Service))
		}
	})
	if runErr := r.n.RunUntil(virtual.At(settling)); runErr != nil || err != nil {
		return r.outcome, errors.Join(err, runErr)
	}
	if r.asked && !r.ended {
		if err := r.n.RunUntil(r.changed.Add(r.limit())); err != nil {
			return r.outcome, err
		}
		r.end()
	}
	if !r.asked {
		r.outcome.end = r.n.Now()
	}
	return r.outcome, nil
}

// limit returns how long the rollout may take. Nothing changes after the progress deadline if the
// new pods never come up.
func (r *run) limit() time.Duration {
	if !r.o.App.neverStarts() {
		return limit
	}
	return min(limit, time.Duration(*r.spec.Spec.ProgressDeadlineSeconds)*time.Second+time.Minute)
}

// send sends requests to the Services that are counted.
func (r *run) send() {
	var entries []traffic.Entry
	for _, t := range r.targets {
		entries = append(entries, traffic.Entry{Service: t.name(), Router: r.o.routing().Name, Rate: r.o.Rate,
			Least: r.o.Latency.Min, Most: r.o.Latency.Max, Container: t.container, Connections: r.o.Connections})
		r.outcome.each = append(r.outcome.each, losses{})
	}
	if len(entries) > 0 && r.o.Rate > 0 {
		r.fold = traffic.New(entries...)
	}
}

// program returns the program of a new pod.
func (r *run) program(pod *v1.Pod) fakeruntime.Pod {
	if r.shown != nil {
		r.shown.Pods = append(r.shown.Pods, pod.DeepCopy())
	}
	return r.programs(pod, r.healthy[r.isNew(pod.Name)], r.asked)
}

// isNew reports whether a pod has the changed template: the ReplicaSet of the first template is
// NAME-1.
func (r *run) isNew(pod string) bool {
	return !strings.HasPrefix(pod, r.spec.Name+"-1-")
}

// observe follows the run.
func (r *run) observe(record *trace.Record) {
	if r.ended {
		return
	}
	if r.fold != nil {
		r.count(r.fold.Observe(record))
	}
	switch record.Kind {
	case trace.WorkloadChanged:
		if record.Object.Name == "Deployment "+r.spec.Namespace+"/"+r.spec.Name {
			r.status(record)
		}
	case trace.PodAdded:
		r.before[record.Pod] = r.before[record.Pod] || !r.asked
		r.pods[record.Pod] = true
		r.outcome.pods = max(r.outcome.pods, len(r.pods))
	case trace.PodDeleteRequested:
		r.terminating[record.Pod] = true
		if r.asked {
			r.stops[record.Pod] = slices.Repeat([]stop{{target: true}}, len(r.targets))
		}
	case trace.PodRemoved:
		delete(r.terminating, record.Pod)
		delete(r.pods, record.Pod)
		r.finish(record.T)
	case trace.ContainerExited, trace.ListenerChanged:
		r.stopped(record)
	case trace.RoutesChanged:
		r.routed(record)
	case trace.ContainerStarted, trace.ContainerStopping, trace.ProbeExecuted:
		if !r.asked || !r.before[record.Pod] {
			r.failed(record)
		}
	}
}

// stopped notes when a container of a pod that is deleted refuses connections, and when it exits.
func (r *run) stopped(record *trace.Record) {
	exited := record.Kind == trace.ContainerExited
	if !exited && record.Reason != "closed" {
		return
	}
	for _, s := range r.stopsOf(record) {
		if s.refused = cmp.Or(s.refused, record.T); exited {
			s.exited = cmp.Or(s.exited, record.T)
		}
	}
}

// failed notes failed probes before the change, and failed probes and restarts in new pods.
func (r *run) failed(record *trace.Record) {
	isNew := !r.before[record.Pod]
	probe, killed := strings.CutSuffix(record.Reason, "Probe")
	switch {
	case record.Kind == trace.ProbeExecuted:
		if record.Result == trace.Failure || record.Result == trace.Error {
			r.outcome.unready = strings.TrimSuffix(fmt.Sprintf("%s probe of container %s: %s", record.Probe,
				record.Container, record.Message), ": ")
		}
	case !isNew:
	case record.Kind == trace.ContainerStarted:
		if record.Instance > 0 && r.outcome.deadline == 0 {
			r.outcome.restarts++
		}
	case killed:
		r.outcome.killed = fmt.Sprintf("%s probe of container %s", strings.ToLower(probe), record.Container)
	case record.Reason == "FailedPostStartHook":
		r.outcome.killed = postStart + " of container " + record.Container
	}
}

// routed notes when a router drops the pods that terminate.
func (r *run) routed(record *trace.Record) {
	i := slices.IndexFunc(r.targets, func(t *target) bool { return record.Object.Name == "Service "+t.name() })
	if record.Reason != r.o.routing().Name || i < 0 {
		return
	}
	is := map[string]bool{}
	for _, e := range record.Object.Endpoints {
		is[e.Pod] = true
	}
	for _, pod := range slices.Sorted(maps.Keys(r.stops)) {
		s := &r.stops[pod][i]
		if s.target && !is[pod] {
			s.target, s.dropped = false, record.T
			if s.refused > 0 && record.Message != "" {
				r.outcome.waited = true
			}
		}
	}
}

// status follows the status of the Deployment: it makes the change when all pods are available, and
// notices the end of the rollout.
func (r *run) status(record *trace.Record) {
	w := record.Object.Workload
	complete := w.Observed == w.Generation && w.Updated == w.Desired && w.Replicas == w.Desired &&
		w.Available == w.Desired
	if !r.asked {
		if complete && w.Generation > r.generation {
			r.generation = w.Generation
			r.ask(record.T)
		}
		return
	}
	if record.T < r.changed || w.Generation <= r.generation {
		return
	}
	r.outcome.ready = min(r.outcome.ready, w.Ready)
	r.withoutPod(record.T, w.Ready == 0 && w.Desired > 0)
	r.follow(record)
	if complete && r.outcome.took == 0 {
		r.outcome.took = record.T.Sub(r.changed)
		r.finish(record.T)
	}
}

// withoutPod notes whether no pod is Ready from now on.
func (r *run) withoutPod(now virtual.Time, is bool) {
	if r.down > 0 {
		r.outcome.outage = max(r.outcome.outage, now.Sub(r.down))
	}
	if !is {
		r.down = 0
	} else if r.down == 0 {
		r.down = now
	}
}

// follow notes the progress of the Deployment.
func (r *run) follow(record *trace.Record) {
	w := record.Object.Workload
	if p := r.progress; p.at == 0 || w.Updated > p.Updated || w.Replicas-w.Updated < p.Replicas-p.Updated ||
		w.Ready > p.Ready || w.Available > p.Available {
		if p.at > 0 && r.outcome.took == 0 {
			r.outcome.standing = max(r.outcome.standing, record.T.Sub(p.at))
		}
		r.progress.at = record.T
	}
	r.progress.Workload = *w
	for _, c := range w.Conditions {
		if c.Type == string(appsv1.DeploymentProgressing) && c.Reason == "ProgressDeadlineExceeded" &&
			r.outcome.deadline == 0 {
			r.outcome.deadline = record.T.Sub(r.changed)
		}
	}
}

// ask schedules the change, some seconds after all pods are available and targets of the router.
func (r *run) ask(now virtual.Time) {
	lb := r.o.routing()
	at := now.Add(lb.AddMost + max(lb.MinSync, router.MinSyncPeriod) + 4*time.Second +
		time.Duration(r.fraction("change")*float64(10*time.Second)))
	if r.o.Change.Kind == Undo && !r.undone {
		r.undone = true
		r.n.At(at, func() { r.fail(r.patch()) })
		return
	}
	r.asked, r.changed, r.outcome.steady = true, at, true
	r.n.At(at, func() {
		r.happen()
		switch r.o.Change.Kind {
		case Undo:
			r.fail(r.n.UndoWorkload(r.spec.Namespace, r.spec.Name, 0))
		case Scale:
			r.fail(r.n.PatchWorkload(r.spec.Namespace, r.spec.Name,
				fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, r.o.Change.Scale)))
		default:
			r.fail(r.patch())
		}
	})
}

// fail ends the run because of an error of a change that the reader has checked.
func (r *run) fail(err error) {
	if err != nil {
		panic(fmt.Sprintf("rollout: %v", err))
	}
}

// patch changes the Deployment to what the manifest says, or restarts it if that is what it has.
func (r *run) patch() error {
	patch := []byte(
		`{"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}`)
	if r.workload.old != r.spec {
		var err error
		if patch, err = admission.Diff(r.workload.old, r.spec); err != nil {
			return err
		}
	}
	return r.n.PatchWorkload(r.spec.Namespace, r.spec.Name, patch)
}

// finish schedules the end of the run when the rollout is complete and the last pod is gone.
func (r *run) finish(now virtual.Time) {
	if r.outcome.took == 0 || len(r.terminating) > 0 {
		return
	}
	r.finished = max(r.finished, now)
	r.outcome.gone = cmp.Or(r.outcome.gone, now.Sub(r.changed))
	lb := r.o.routing()
	last := 2*time.Second + max(lb.MinSync, router.MinSyncPeriod) + lb.RemoveMost
	if !r.acceptsWhenReady(r.o) {
		last += min(r.longestStart(r.o), settling)
	}
	r.n.At(now.Add(last), r.end)
}

// end ends the run, and its losses.
func (r *run) end() {
	if r.ended {
		return
	}
	if r.fold != nil {
		r.count(r.fold.End(r.n.Now()))
	}
	if r.outcome.lingers = r.outcome.took > 0 && len(r.terminating) > 0; r.outcome.took == 0 || r.outcome.lingers {
		r.finished, r.outcome.gone = r.n.Now(), r.n.Now().Sub(r.changed)
	}
	r.outcome.changed, r.outcome.end, r.outcome.last = r.changed, r.n.Now(), r.progress.Ready
	r.withoutPod(r.n.Now(), false)
	r.outcome.requests = r.o.Rate * (r.finished.Sub(r.changed) + (r.o.Latency.Min+r.o.Latency.Max)/2).Seconds()
	r.ended = true
	for _, l := range r.outcome.each {
		if l.lost >= r.outcome.lost {
			r.outcome.losses = l
		}
	}
	r.measureNeeds()
	r.n.Pause()
}

// count counts the losses since the change.
func (r *run) count(records []trace.Record) {
	for i := range records {
		l := &records[i]
		if r.shown != nil {
			r.shown.recorder.Add(*l)
		}
		if l.Kind != trace.LossEnded || !r.asked || l.T < r.changed || l.Object.Loss.Lost == 0 {
			continue
		}
		pods := "old"
		if l.Reason == traffic.NoEndpoints {
			pods = ""
		} else if !r.before[l.Pod] {
			pods = "new"
		}
		of := &r.outcome.each[slices.IndexFunc(r.targets,
			func(t *target) bool { return l.Object.Name == "Service "+t.name() })]
		p := partOf(&of.parts, l.Reason, pods)
		since, lost := max(r.changed, l.T.Add(-l.Took)), l.Object.Loss.Lost
		if since > l.T.Add(-l.Took) { // the loss began before the change
			lost *= l.T.Sub(since).Seconds() / l.Took.Seconds()
		}
		p.Count += lost
		p.Window = max(p.Window, value.Seconds(r.extend(window{l.Object.Name, l.Pod, l.Reason},
			virtual.Span{From: since, To: l.T})))
		of.lost += lost
		r.finished = max(r.finished, l.T)
		r.outcome.helpless = r.outcome.helpless || pods != "old" ||
			l.Reason == traffic.InFlight && r.o.Connections.Count > 0
	}
}

// extend adds a part of a window, and returns how long the window is so far.
func (r *run) extend(w window, by virtual.Span) time.Duration {
	if last := r.windows[w]; last.To == by.From && last.To > 0 {
		by.From = last.From
	}
	r.windows[w] = by
	return by.To.Sub(by.From)
}

// measureNeeds finds the preStop sleep with which no pod would have stopped too early. A request
// that a program has must end before it exits.
func (r *run) measureNeeds() {
	for _, pod := range slices.Sorted(maps.Keys(r.stops)) {
		for i, s := range r.stops[pod] {
			if s.target || s.dropped == 0 || s.refused == 0 {
				continue
			}
			r.outcome.needed = true
			need := s.dropped.Sub(s.refused)
			if s.exited > 0 {
				need = max(need, s.dropped.Add(r.o.Latency.Max).Sub(s.exited))
			}
			of := r.outgoing(r.o)
			sleep, _ := sleepOf(serving(of, r.targets[i].container))
			// SIGKILL comes after the grace period
			r.outcome.needs = max(r.outcome.needs, min(sleep, graceOf(of))+need)
		}
	}
}

// programs returns how the containers of a pod behave. The pods before the change have been up for
// long.
func (r *run) programs(pod *v1.Pod, healthy fakeruntime.Pod, isNew bool) fakeruntime.Pod {
	all := fakeruntime.Pod{Delays: healthy.Delays, Containers: map[string]fakeruntime.ContainerConfig{}}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		config := healthy.Containers[c.Name]
		if takes, known := r.o.App.Start.Of[c.Name]; known && isNew {
			rule := starting(c, takes)
			if !podutil.IsRestartableInitContainer(c) {
				rule = fakeruntime.Rule{Clock: fakeruntime.AfterStart, From: *rule.For, Exit: &fakeruntime.Exit{}}
			}
			config.Program.Rules = append([]fakeruntime.Rule{rule}, config.Program.Rules...)
		}
		all.Containers[c.Name] = config
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		config := healthy.Containers[c.Name]
		rules := append([]fakeruntime.Rule{}, config.Program.Rules...)
		if start := r.o.App.Start.In(c.Name, r.ordinary(c.Name)); isNew && start != nil && start.Max > 0 {
			rules = append(rules, starting(c, *start))
			// as with an image that cannot be pulled
			if start.Min >= Never && c.ReadinessProbe == nil && c.StartupProbe == nil {
				config.Delays.CreateContainer = new(fakeruntime.Exactly(Never))
			}
		}
		config.Program.Rules = append(rules, r.stopping(c)...)
		all.Containers[c.Name] = config
	}
	return all
}

// fraction returns a number from 0 to 1 that the seed of the run and a name decide.
func (r *run) fraction(name string) float64 {
	h := fnv.New64a()
	h.Write([]byte(strconv.FormatInt(r.seed, 10) + " " + name))
	x := h.Sum64() // the low bits of a hash of similar names are more even than the high ones
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// ordinary reports whether a container is no sidecar, in the Deployment after the change or else
// before it.
func (r *run) ordinary(container string) bool {
	c := serving(r.spec, container)
	if c == nil {
		c = serving(r.workload.old, container)
	}
	return r.serves(container) || !workloads.IsProxy(c)
}

const postStart = "postStart hook"

// starting is the rule of a program that is not up yet: all probes and a request of its postStart
// hook fail, and it does not listen. Each instance draws how long it takes.
func starting(c *v1.Container, takes value.Interval) fakeruntime.Rule {
	down := program.Down(c, (*value.Draw)(&takes))
	spec := &format.Container{Name: c.Name, Behavior: []format.Rule{down}}
	script := program.Script{Spec: spec, Container: c, Listens: true}
	config, _ := script.Compile(strict.Encode(spec, &strict.Collector{}))
	return config.Program.Rules[0]
}

// stopping returns the rules of a program that gets SIGTERM.
func (r *run) stopping(c *v1.Container) (rules []fakeruntime.Rule) {
	if stop := r.stopOf(r.o, c.Name, r.ordinary(c.Name)); stop != nil {
		exit := &fakeruntime.Exit{Never: stop.Min >= Never}
		rules = append(rules, fakeruntime.Rule{Clock: fakeruntime.AfterSigterm, From: fakeruntime.Draw(*stop),
			Exit: exit})
	}
	if refuse := r.o.App.refuse(c.Name); r.serves(c.Name) && refuse.Min < Never {
		from := fakeruntime.Draw(refuse)
		rules = append(rules, fakeruntime.Rule{Clock: fakeruntime.AfterSigterm, From: from, Refuse: true})
	}
	return rules
}

// stopOf returns how long a container takes from SIGTERM to its exit, or nil if nobody knows.
func (w *workload) stopOf(o *Options, container string, ordinary bool) *value.Interval {
	known := o.App.Stop.In(container, ordinary)
	if known == nil && w.serves(container) {
		return &value.Interval{Min: DefaultStop, Max: DefaultStop}
	}
	return known
}

// healthy returns the programs of the pods before and after the change, without what the options
// say about them.
func (w *workload) healthy(o *Options) (map[bool]fakeruntime.Pod, error) {
	programs := map[bool]fakeruntime.Pod{}
	for i, d := range []*appsv1.Deployment{w.old, w.spec} {
		one := d.DeepCopy()
		one.Spec.Replicas = new(int32(1)) // a Deployment without pods can be scaled
		admitted, err := workloads.Admit(one, o.Profile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.object().Title(), err)
		}
		if programs[i == 1], err = o.withEvents(one, admitted.Programs); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// rulesOf returns the containers of a Deployment that other events are about, with their rules.
func (o *Options) rulesOf(d *appsv1.Deployment) (containers []format.Container) {
	pod := &v1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	pod.Namespace = d.Namespace
	of := &manifests.Workload{Kind: "Deployment", Name: d.Name, Pod: pod}
	for c := range podutil.Containers(&pod.Spec) {
		one := format.Container{Name: c.Name}
		for _, e := range o.App.Others {
			if rule, applies := e.Rule(of, c); applies {
				one.Behavior = append(one.Behavior, rule)
			}
		}
		if one.Behavior != nil {
			containers = append(containers, one)
		}
	}
	return containers
}

// withEvents returns the programs of a Deployment with other events. The clocks of its rules with
// at start at the change, which is the only moment of a run.
func (o *Options) withEvents(d *appsv1.Deployment, healthy fakeruntime.Pod) (fakeruntime.Pod, error) {
	containers := o.rulesOf(d)
	if containers == nil {
		return healthy, nil
	}
	planned, err := scenarios.CompileRules(d, containers, scenarios.CompileOptions{Profile: o.Profile})
	if err != nil {
		return healthy, err
	}
	program := planned[0].Program
	for _, name := range slices.Sorted(maps.Keys(program.Containers)) {
		for i := range program.Containers[name].Program.Rules {
			if rule := &program.Containers[name].Program.Rules[i]; rule.Clock == fakeruntime.AtScenario {
				rule.Clock, rule.Moment = fakeruntime.AtMoment, 0
			}
		}
	}
	return program, nil
}

// happen makes other events happen after the change.
func (r *run) happen() {
	if len(r.o.App.Others) > 0 {
		r.n.Occur(0)
	}
	for i, e := range r.o.App.Others {
		if !e.IsStep() || e.What == whatif.Deletion && !r.is(e.Container) {
			continue
		}
		draw := func(what string, d value.Interval) time.Duration {
			return d.Min + time.Duration(r.fraction(fmt.Sprint(what, " ", i))*float64(d.Max-d.Min))
		}
		at := r.n.Now().Add(draw("event", value.Interval(*e.At)))
		if e.What == whatif.Deletion {
			r.n.At(at, r.deletePods)
			continue
		}
		down := func(is bool) func() { return func() { r.setDown(e.What, is) } }
		r.n.At(at, down(true))
		r.n.At(at.Add(draw("length", value.Interval(*e.Length))), down(false))
	}
}

// deletePods deletes all pods.
func (r *run) deletePods() {
	for _, pod := range slices.Sorted(maps.Keys(r.pods)) {
		namespace, name := format.SplitName(pod)
		_ = r.n.DeletePod(namespace, name, nil) // unless it is gone
	}
}

// setDown begins or ends an outage of a part of the node.
func (r *run) setDown(part string, down bool) {
	switch part {
	case whatif.Kubelet:
		if r.kubeletDown = down; down {
			r.n.StopKubelet()
		}
	case whatif.API:
		r.n.SetAPIDown(down)
	case whatif.Runtime:
		r.health.Down = down
	case whatif.Registry:
		r.health.RegistryDown = down
	}
	r.n.SetRuntimeHealth(r.health)
	if !down && !r.kubeletDown && !r.health.Down {
		r.n.StartKubelet() // which waits for the runtime
	}
}
