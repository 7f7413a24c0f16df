package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/controller"
	"probesim.dev/internal/world/controller/deployment"
	"probesim.dev/internal/world/controller/endpointslice"
	"probesim.dev/internal/world/router"
)

// changed returns the workload with a change of its Deployment, before and after the rollout: the
// pods that the rollout stops have it too.
func (w *workload) changed(change func(*appsv1.Deployment)) *workload {
	c := *w
	c.spec = w.spec.DeepCopy()
	c.tried = true
	change(c.spec)
	if c.old = c.spec; w.old != w.spec {
		c.old = w.old.DeepCopy()
		change(c.old)
	}
	return &c
}

// with returns the workload with a candidate.
func (w *workload) with(c candidate) *workload {
	if c.service == nil {
		return w.changed(c.change)
	}
	x := *w
	x.tried, x.targets = true, slices.Clone(w.targets)
	for i := range x.targets {
		if t := &x.targets[i]; t.name() == c.of.name() {
			t.Service = t.Service.DeepCopy()
			c.service(t.Service)
		}
	}
	return &x
}

// line returns the line of a candidate in the file of the workload.
func (w *workload) line(c candidate) int {
	if c.of != nil && c.of.node.Pos.File == w.file {
		return c.of.node.Find(c.field).Pos.Line
	}
	return w.node.Find(c.field).Pos.Line
}

// confirming is the number of runs of a change that loses nothing in the first ones, if no rule
// says why.
const confirming = 1000

// try makes runs of the workload with a change, and of one that seems to lose nothing up to some
// more.
func (w *workload) try(o *Options, n, most int, c *candidate) (*Fix, error) {
	changed, name := w.with(*c), "rollouts with a change"
	for len(c.drawn) < n {
		more, err := changed.runs(o, len(c.drawn), n-len(c.drawn), name)
		if c.drawn = append(c.drawn, more...); err != nil || !c.drawn.complete() {
			return nil, err
		}
		if len(c.drawn) == n && c.drawn.lossless() && most > n {
			n, name = most, "rollouts with a change that may be enough"
		}
	}
	s := c.drawn
	lost := s.figures(lostOf)
	return &Fix{Change: c.text, Line: w.line(*c), Runs: len(s), Lost: lost.Greatest,
		Median: lost.Median, Takes: s.figures(takesOf).Median, LosesNone: s.lossless()}, nil
}

// most returns how many runs a change gets at most: those of the options, or as many as details
// need.
func (o *Options) most(quick bool) int {
	if quick || o.Runs > 0 {
		return 0
	}
	return confirming
}

// withSleep returns a change to a preStop sleep, and to a grace period in which the program can
// end.
func (w *workload) withSleep(o *Options, seconds int64) (text string, change func(*appsv1.Deployment)) {
	grace := *w.spec.Spec.Template.Spec.TerminationGracePeriodSeconds
	var containers []string // that sleep for a shorter time: those that serve may need the others
	for _, c := range w.spec.Spec.Template.Spec.Containers {
		if now, known := sleepOf(&c); known && now < time.Duration(seconds)*time.Second {
			containers = append(containers, c.Name)
		}
	}
	var texts []string
	if n := len(w.spec.Spec.Template.Spec.Containers); len(containers) > 0 {
		texts = append(texts, fmt.Sprintf("preStop: {sleep: {seconds: %d}}", seconds))
		if n > 2 && len(containers) == n {
			texts[0] += fmt.Sprintf(" in all %d containers", n)
		} else if n > 1 {
			texts[0] += " in " + strings.Join(containers, " and ")
		}
	}
	if needs := w.graceFor(o, seconds); needs > grace {
		texts = append(texts, fmt.Sprintf("terminationGracePeriodSeconds: %d", needs))
		grace = needs
	}
	return strings.Join(texts, " and "), func(d *appsv1.Deployment) {
		for _, name := range containers {
			c := serving(d, name)
			if c == nil {
				continue // the pods before the change do not have it
			}
			if c.Lifecycle == nil {
				c.Lifecycle = &v1.Lifecycle{}
			}
			c.Lifecycle.PreStop = &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: seconds}}
		}
		d.Spec.Template.Spec.TerminationGracePeriodSeconds = &grace
	}
}

// graceFor returns a grace period in which the program can end after a preStop sleep. check warns
// of less.
func (w *workload) graceFor(o *Options, sleep int64) int64 {
	needs := roundUp(w.longestStop(o)) + 2
	if sleep > 0 {
		needs = max(needs, roundUp(workloads.ShortGrace))
	}
	return sleep + needs
}

// enoughSleep returns the preStop sleep with which no run loses a request, with the changes that it
// needs, or nil if there is none. It is one that is always enough, if a rule says how long that is,
// and else the least one in whole seconds.
func (w *workload) enoughSleep(o *Options, s sample, quick bool) (*Fix, error) {
	if _, known := w.sleep(); !known || s.lossless() || w.byDNS(o) {
		return nil, nil
	}
	w, before, last := w.prepared(o)
	if before != "" {
		n := len(s)
		if _, balanced := o.balancer(); balanced { // the name says how long it can take
			n = max(fewestRuns, n/4)
		}
		var err error
		if s, err = w.runs(o, 0, n, "rollouts with a change"); err != nil {
			return nil, err
		}
	}
	if !s.all(func(o *outcome) bool { return !o.helpless && o.took > 0 }) {
		return nil, nil
	}
	_, ruled := w.alwaysEnough(o)
	n, most := len(s), o.most(quick)
	if ruled {
		most = 0
		if quick {
			n = min(n, fewestRuns)
		}
	}
	for _, seconds := range w.sleeps(o, s, true) {
		text, change := w.withSleep(o, seconds)
		c := candidate{text: before + text, field: w.path(w.serve()[0], "lifecycle.preStop"), change: change}
		if text == "" {
			c.text, c.field, c.of = strings.TrimSuffix(before, " and "), last.field, last.of
		}
		fix, err := w.try(o, n, most, &c)
		if err != nil {
			return nil, err
		}
		if fix != nil && fix.LosesNone {
			fix.Always = ruled
			return fix, nil
		}
	}
	return nil, nil
}

// sleeps returns preStop sleeps in whole seconds that may be enough, the shortest first: with
// always, the one that a rule says is, if it says so, and else some from the one on that runs need.
func (w *workload) sleeps(o *Options, s sample, always bool) (list []int64) {
	now, known := w.sleep()
	if !known {
		return nil
	}
	least := int64(now / time.Second)
	for i := range s {
		least = max(least, roundUp(s[i].needs))
	}
	if _, balanced := o.balancer(); balanced { // runs do not show how long it can take
		least = max(least, roundUp(longestDrop(o)+o.Latency.Max))
	}
	if enough, ruled := w.alwaysEnough(o); ruled && always {
		return []int64{max(least, roundUp(enough))}
	}
	return []int64{least, least + 1, least + 2}
}

// prepared returns the workload with the changes without which no sleep is enough, these in words
// that end in "and", and the last one.
func (w *workload) prepared(o *Options) (changed *workload, text string, last candidate) {
	with := func(c candidate) {
		text, last = text+c.text+" and ", c
		w = w.with(c)
	}
	for _, c := range w.required(o) {
		with(c)
	}
	if lb, balanced := o.balancer(); balanced && w.router.gate == "" && !w.keepsReady(o, rareBackOff) {
		for _, c := range w.minReady(o) {
			c.text += fmt.Sprintf(" (%s takes up to %s to add a pod", router.Short(lb.Name), value.Format(lb.AddMost))
			if lb.Name == "alb-ip" || lb.Name == "nlb-ip" {
				c.text += "; its readiness gate would wait as well"
			}
			c.text += ")"
			with(c)
		}
	}
	return w, text, last
}

// required returns the changes without which no sleep is enough, whatever the router is.
func (w *workload) required(o *Options) (list []candidate) {
	for _, t := range w.counted() {
		if !w.probesStart(o, t.container) {
			list = append(list, w.withReadiness(t))
		}
		if t.Spec.PublishNotReadyAddresses {
			list = append(list, candidate{text: "publishNotReadyAddresses: false in Service " + t.Name, of: t,
				field: "spec.publishNotReadyAddresses", service: func(s *v1.Service) {
					s.Spec.PublishNotReadyAddresses = false
				}})
		}
		keys := slices.Sorted(maps.Keys(t.Spec.Selector)) // for which the old pods have other labels
		keys = slices.DeleteFunc(keys, func(key string) bool {
			return w.old.Spec.Template.Labels[key] == t.Spec.Selector[key]
		})
		if len(keys) > 0 && len(keys) < len(t.Spec.Selector) {
			list = append(list, candidate{text: fmt.Sprintf("a selector without %s in Service %s",
				strings.Join(keys, " and "), t.Name), of: t, field: "spec.selector", service: func(s *v1.Service) {
				maps.DeleteFunc(s.Spec.Selector, func(key, _ string) bool { return slices.Contains(keys, key) })
			}})
		}
	}
	if w.stopsAll(o) {
		list = append(list, w.oneByOne())
	}
	return list
}

// path returns a field of a container in the manifest.
func (w *workload) path(container, field string) string {
	for i, c := range w.spec.Spec.Template.Spec.Containers {
		if c.Name == container {
			return fmt.Sprintf("spec.template.spec.containers[%d].%s", i, field)
		}
	}
	return "spec.template.spec.containers"
}

// fixes returns changes that lose fewer requests, each found by runs: one is enough, or all.
func (w *workload) fixes(o *Options, s sample, one bool) (list []Fix, err error) {
	sleep, err := w.enoughSleep(o, s, one)
	if err != nil {
		return nil, err
	}
	if sleep != nil {
		list = append(list, *sleep)
	}
	if one && sleep != nil {
		return list, nil
	}
	groups := w.candidates(o)
	if sleeps := w.sleeps(o, s, true); sleep == nil && len(sleeps) > 0 && !w.byDNS(o) {
		if text, change := w.withSleep(o, sleeps[0]); strings.HasPrefix(text, "preStop") {
			groups = append(groups, []candidate{{text: text, field: w.path(w.serve()[0], "lifecycle.preStop"),
				change: change}})
		}
	}
	now := s.figures(lostOf)
	helps := func(f *Fix) bool { return f != nil && f.Lost < now.Greatest && f.Median < 0.8*now.Median }
	for _, group := range groups {
		var best *Fix
		var of *candidate
		for i, c := range group {
			if sleep != nil && sleep.Change == c.text {
				continue
			}
			fix, err := w.try(o, max(fewestRuns, len(s)/4), 0, &group[i])
			if err != nil {
				return nil, err
			}
			if fix != nil && (best == nil || fix.Median < 0.9*best.Median) {
				best, of = fix, &group[i]
			}
		}
		if helps(best) {
			if best, err = w.try(o, len(s), o.most(one), of); err != nil {
				return nil, err
			}
		}
		if helps(best) {
			list = append(list, *best)
		}
	}
	return list, nil
}

// candidate is a change that may help: of the Deployment, or of a Service.
type candidate struct {
	text, field string
	change      func(*appsv1.Deployment)
	of          *target // whose Service changes
	service     func(*v1.Service)
	drawn       sample // the runs with it so far
}

// candidates returns the changes that fit what is lost. The best one of each group counts.
func (w *workload) candidates(o *Options) (list [][]candidate) {
	for _, c := range w.required(o) {
		list = append(list, []candidate{c})
	}
	if sleep, known := w.sleep(); known {
		grace := w.graceFor(o, roundUp(sleep))
		if grace > *w.spec.Spec.Template.Spec.TerminationGracePeriodSeconds {
			list = append(list, []candidate{{text: fmt.Sprintf("terminationGracePeriodSeconds: %d", grace),
				field: "spec.template.spec.terminationGracePeriodSeconds", change: func(d *appsv1.Deployment) {
					d.Spec.Template.Spec.TerminationGracePeriodSeconds = &grace
				}}})
		}
	}
	if _, balanced := o.balancer(); !balanced && !w.byDNS(o) {
		if longer := w.minReady(o); len(longer) > 0 {
			list = append(list, longer)
		}
	}
	return list
}

// withReadiness returns a change to a readiness probe of the port that a Service sends requests to.
func (w *workload) withReadiness(t *target) candidate {
	port := intstr.FromInt32(8080)
	if len(t.Spec.Ports) > 0 {
		port = t.Spec.Ports[0].TargetPort
	}
	return candidate{text: "a readinessProbe that succeeds when the program is up",
		field: w.path(t.container, "readinessProbe"), change: func(d *appsv1.Deployment) {
			serving(d, t.container).ReadinessProbe = &v1.Probe{PeriodSeconds: 1, TimeoutSeconds: 1, SuccessThreshold: 1,
				FailureThreshold: 3, ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: port}}}
		}}
}

// stopsAll reports whether the rollout may stop all old pods at once although new ones could start
// beside them.
func (w *workload) stopsAll(o *Options) bool {
	_, unavailable := w.fenceposts()
	return *w.spec.Spec.Replicas <= unavailable && o.Change.Kind != Scale && len(w.conflicts) == 0
}

// oneByOne returns a change to a rolling update that stops an old pod only after a new one is
// available.
func (w *workload) oneByOne() candidate {
	change := "maxSurge: 1 and maxUnavailable: 0"
	if w.spec.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		change = "type: RollingUpdate, " + change
	}
	return candidate{text: change, field: "spec.strategy", change: func(d *appsv1.Deployment) { rolling(d, 1, 0) }}
}

func rolling(d *appsv1.Deployment, surge, unavailable int32) {
	s, u := intstr.FromInt32(surge), intstr.FromInt32(unavailable)
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}}
}

// minReady returns longer times from Ready to available: those that keep the syncs of a proxy
// apart, or as long as a load balancer takes to add a pod. A pod can be available up to a second
// early, and progressDeadlineSeconds must be longer.
func (w *workload) minReady(o *Options) (list []candidate) {
	from := int32(roundUp(o.routing().MinSync)) + 1
	to := from + 1
	if _, balanced := o.balancer(); balanced {
		from = int32(roundUp(longestAdd(o)+rareBackOff)) + 1
		to = from
	}
	for seconds := max(from, w.spec.Spec.MinReadySeconds+1); seconds <= to && o.Change.Kind != Scale; seconds++ {
		text, deadline := fmt.Sprintf("minReadySeconds: %d", seconds), *w.spec.Spec.ProgressDeadlineSeconds
		if deadline < seconds+10 {
			deadline = seconds + 60
			text += fmt.Sprintf(" and progressDeadlineSeconds: %d", deadline)
		}
		list = append(list, candidate{text: text, field: "spec.minReadySeconds", change: func(d *appsv1.Deployment) {
			d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = seconds, &deadline
		}})
	}
	return list
}

// alwaysEnough returns a preStop sleep with which no request can be lost in any run, or false if no
// sleep is enough. The time from the deletion of a pod until its router drops it has an upper end:
//
//   - A watch shows the deletion to the EndpointSlice controller, which may make another call.
//   - If its cache does not have its own last write, it waits for a back-off, which doubles with
//     each change of a pod until a watch shows the write: four in a row are the most that 15,000
//     runs had.
//   - Its write of the slice is a call, and a watch shows the slice to the router.
//   - kube-proxy may be in a sync, waits for minSyncPeriod and writes its rules, as other proxies
//     do. A load balancer takes its own delay.
//
// The sleep must last until then, less the time that the program goes on to accept connections, and
// so that the program ends the requests it has. The rule holds as long as the pods of the rollout
// accept requests when they are Ready, another pod is Ready, the Services select the old pods too,
// SIGKILL comes later (cuts), and no Service waits for a worker of the EndpointSlice controller.
// A program to which clients keep connections must close them before it stops, and end the
// requests that came over them. With publishNotReadyAddresses, no sleep is enough: a pod is a
// target until it is gone.
func (w *workload) alwaysEnough(o *Options) (enough time.Duration, ruled bool) {
	counted := w.counted()
	_, before := w.sleepIn(w.old)
	if _, after := w.sleep(); !before || !after || len(counted) == 0 || len(o.App.Others) > 0 ||
		len(w.targets) > controller.Workers || w.byDNS(o) || !w.keepsReady(o, rareBackOff) || !w.acceptsWhenReady(o) ||
		slices.ContainsFunc(counted, func(t *target) bool {
			return t.Spec.PublishNotReadyAddresses || !selects(t.Service, t.Namespace, w.old.Spec.Template.Labels)
		}) {
		return 0, false
	}
	if o.Change.Kind == Scale && o.Change.Scale >= *w.spec.Spec.Replicas { // it stops no pod
		return 0, true
	}
	drop := longestDrop(o) + rareBackOff
	kept := o.Connections.Count > 0
	for _, container := range w.serve() {
		stop := w.stopOf(o, container, true).Min
		if kept && (o.Connections.UntilExit || stop < o.App.refuse(container).Max+o.Latency.Max) {
			return 0, false
		}
		enough = max(enough, drop-min(o.App.refuse(container).Min, stop), drop+o.Latency.Max-stop)
	}
	return enough, true
}

// byDNS reports whether clients find the pods of a Service by DNS, and the options do not say how
// long that takes.
func (w *workload) byDNS(o *Options) bool {
	_, balanced := o.balancer()
	return !balanced && slices.ContainsFunc(w.counted(), (*target).headless)
}

// cuts reports whether the API server rejects a sleep because of the grace period, or SIGKILL may
// come before a program has slept and ended the requests that it has: when the grace period of a
// pod is over, and at least leastGrace after the sleep.
func (w *workload) cuts(o *Options, slept time.Duration) bool {
	slept = time.Duration(roundUp(slept)) * time.Second
	grace, last := graceOf(w.outgoing(o)), longestDrop(o)+rareBackOff // when the last request comes
	if o.Connections.Count > 0 {
		last = max(last, slept+w.longest(func(c string) *value.Interval { return new(o.App.refuse(c)) }))
	}
	return slept >= grace || last+o.Latency.Max > max(grace, slept+leastGrace)
}

// outgoing returns the Deployment with the template of the pods that the rollout stops.
func (w *workload) outgoing(o *Options) *appsv1.Deployment {
	if o.Change.Kind == Undo {
		return w.spec
	}
	return w.old
}

// rareBackOff is how much longer than the second back-off the fourth is.
const rareBackOff = 8*endpointslice.BackOff - 2*endpointslice.BackOff

// longestDrop returns the longest time from the deletion of a pod until its router sends it no
// requests, with at most two back-offs.
func longestDrop(o *Options) time.Duration {
	watch, call, sync := o.longest()
	drop := 3*watch + 2*call + 2*endpointslice.BackOff
	if lb, balanced := o.balancer(); balanced {
		return drop + lb.RemoveMost
	}
	return drop + 2*sync + o.routing().MinSync + o.routing().Gather
}

// keepsReady reports whether the router always has another pod: one that stays available in the
// whole rollout, and that a load balancer has added before its minReadySeconds are over even if
// that takes some time more than longestAdd.
func (w *workload) keepsReady(o *Options, more time.Duration) bool {
	if o.Change.Kind == Scale {
		return o.Change.Scale > 0
	}
	if w.spec.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return false
	}
	if _, balanced := o.balancer(); balanced && w.router.gate == "" &&
		time.Duration(w.spec.Spec.MinReadySeconds-1)*time.Second < longestAdd(o)+more {
		return false
	}
	_, unavailable := w.fenceposts()
	return *w.spec.Spec.Replicas > unavailable
}

// longestAdd returns the longest time from Ready until a load balancer sends requests to a pod. A
// pod can be available a second before its minReadySeconds are over, because the API has the time
// of Ready in whole seconds.
func longestAdd(o *Options) time.Duration {
	lb, _ := o.balancer()
	return longestDrop(o) - lb.RemoveMost + lb.AddMost
}

// acceptsWhenReady reports whether a pod accepts requests as soon as it is Ready.
func (w *workload) acceptsWhenReady(o *Options) bool {
	return !slices.ContainsFunc(w.serve(), func(container string) bool { return !w.probesStart(o, container) })
}

// probesStart reports whether a container starts at once, or has a probe that notices when it is
// up.
func (w *workload) probesStart(o *Options, container string) bool {
	start, c := o.App.Start.In(container, true), serving(w.spec, container)
	return start == nil || start.Max == 0 || c.ReadinessProbe != nil || c.StartupProbe != nil
}

// longestStart returns how long the containers that serve take to start at most, and longestStop
// how long from SIGTERM to their exit.
func (w *workload) longestStart(o *Options) time.Duration {
	return w.longest(func(container string) *value.Interval { return o.App.Start.In(container, true) })
}

func (w *workload) longestStop(o *Options) time.Duration {
	return w.longest(func(container string) *value.Interval { return w.stopOf(o, container, true) })
}

func (w *workload) longest(of func(container string) *value.Interval) (most time.Duration) {
	for _, container := range w.serve() {
		if i := of(container); i != nil {
			most = max(most, i.Max)
		}
	}
	return most
}

// fenceposts returns maxSurge and maxUnavailable as numbers of pods. Recreate stops all pods.
func (w *workload) fenceposts() (surge, unavailable int32) {
	if w.spec.Spec.Strategy.RollingUpdate == nil {
		return 0, *w.spec.Spec.Replicas
	}
	return deployment.ResolveFenceposts(w.spec.Spec.Strategy.RollingUpdate, *w.spec.Spec.Replicas)
}
