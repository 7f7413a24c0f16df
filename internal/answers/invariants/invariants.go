// Package invariants has rules that the kubelet should obey in every run of every scenario, and
// checks runs against them.
//
// The kubelet breaks some of them: such a run shows a bug of the kubelet, or one of the simulator.
// Package trace/invariant has the rules about the simulation itself, which every trace obeys.
package invariants

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Invariant is a rule that the kubelet should obey.
type Invariant struct {
	Name     string // such as kill-needs-failures; for flags and reports
	Sentence string // what the rule is
}

// The invariants, by name.
const (
	killNeedsFailures      = "kill-needs-failures"
	startedNeedsSuccess    = "started-needs-success"
	readyNeedsStarted      = "ready-needs-started"
	noReadyWhileStopping   = "no-ready-while-stopping"
	noProbeBeforeDelay     = "no-probe-before-initial-delay"
	noProbeWhileTerminates = "no-probe-while-terminating"
	noProbeAfterExit       = "no-probe-after-exit"
	restartCountGrows      = "restart-count-grows"
	settledStatusAgrees    = "settled-status-agrees"
)

// All returns all invariants, in the order in which reports list them. Each follows from a file in
// pkg/kubelet at v1.37.0, or from another place.
func All() []Invariant {
	return []Invariant{
		// prober/worker.go
		{killNeedsFailures, "A container is stopped because of a liveness or startup probe only after " +
			"failureThreshold failures of this probe in a row, all of this instance."},
		// prober/prober_manager.go
		{startedNeedsSuccess, "A container with a startup probe is published as started only after the probe has " +
			"succeeded for this instance."},
		// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-probes
		{readyNeedsStarted, "A running container that is published as ready is published as started."},
		// kuberuntime/kuberuntime_manager.go
		{noReadyWhileStopping, "A container that is not ready does not become ready between its stop signal and its " +
			"exit, unless its readiness probe succeeded before."},
		// prober/worker.go
		{noProbeBeforeDelay, "No probe of a container begins before initialDelaySeconds have passed since its start, " +
			"unless the wall clock was set meanwhile."},
		// prober/prober_manager.go
		{noProbeWhileTerminates, "No liveness or startup probe of a container begins after the kubelet has stopped a " +
			"container of its pod to end the pod."},
		// prober/worker.go
		{noProbeAfterExit, "No probe of an instance begins after its status says that it has ended."},
		// test/e2e/common/node/container_probe.go
		{restartCountGrows, "The restartCount of a container never falls."},
		// status/status_manager.go
		{settledStatusAgrees, "From ten seconds after the results of a readiness or startup probe have settled, the " +
			"published Ready and Started agree with them."},
	}
}

// Known is a bug of the kubelet that breaks an invariant, and that a scenario of the library
// asserts.
type Known struct {
	Bug      string // its row in scenarios/library/bugs, such as B22; empty: it has none
	Issue    string // the number of the issue or pull request, such as #141155; may be empty
	Scenario string // the file in the library that asserts it, if it has no row
}

// String names the bug, such as "B18 #141155", or its scenario.
func (k Known) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{k.Bug, k.Issue, k.Scenario}, " ")), " ")
}

// Violation is a record that breaks an invariant.
type Violation struct {
	Invariant string
	Case      string // what breaks it, in a few words, such as "carried over from the instance before"
	Known     *Known // the bug that the case belongs to; nil: not known
	Pod       string
	Container string
	T         virtual.Time
	Step      int64 // of the record
}

// Options configure Check.
type Options struct {
	End    virtual.Time  // the end of the run
	Uptime time.Duration // age of the kubelet at t=0
}

// Check returns the violations in the records of a run, in order: the first one of each class. The
// pods have their defaults set.
func Check(pods []*v1.Pod, records []trace.Record, o Options) []Violation {
	c := &checker{node: node{since: virtual.At(-o.Uptime), epoch: virtual.At(-o.Uptime)}, pods: map[string]*pod{},
		seen: map[class]bool{}}
	for _, p := range pods {
		key := p.Namespace + "/" + p.Name
		if c.pods[key] == nil {
			c.order = append(c.order, key)
		}
		c.pods[key] = newPod(p)
	}
	for i := range records {
		c.check(&records[i])
	}
	for _, key := range c.order {
		if !c.pods[key].changed {
			c.settled(c.pods[key], key, o.End)
		}
	}
	slices.SortStableFunc(c.found, func(a, b Violation) int { return cmp.Compare(a.T, b.T) })
	return c.found
}

// class is what violations have in common that are the same finding.
type class struct{ invariant, what, pod, container string }

// checker checks the records of one run.
type checker struct {
	pods  map[string]*pod
	order []string // keys of pods, as the scenario has them
	node  node
	seen  map[class]bool // classes of violations
	found []Violation
}

// broken notes a violation, unless there is one of its class.
func (c *checker) broken(r *trace.Record, container, invariant, what string, known *Known) {
	v := Violation{Invariant: invariant, Case: what, Known: known, Pod: r.Pod, Container: container, T: r.T,
		Step: r.Step}
	class := class{invariant, what, r.Pod, container}
	if c.seen[class] {
		return
	}
	c.seen[class] = true
	c.found = append(c.found, v)
}

// check checks a record, and then takes over what it says.
func (c *checker) check(r *trace.Record) {
	c.node.follow(r)
	if r.Kind == trace.KubeletStopped {
		for _, key := range c.order {
			c.pods[key].kubeletStopped()
		}
	}
	p := c.pods[r.Pod]
	if p == nil || p.changed {
		return
	}
	if r.ChangesProbes() {
		p.changed = true
		return
	}
	c.settled(p, r.Pod, r.T)
	defer c.settled(p, r.Pod, r.T)
	if r.Kind == trace.StatusPatched {
		c.checkStatus(p, r)
		p.published(r)
		return
	}
	if k := p.containers[r.Container]; k != nil {
		switch r.Kind {
		case trace.ProbeExecuted:
			c.checkProbe(p, k, r)
		case trace.ContainerStopping:
			c.checkStop(k, r)
		}
		k.follow(r, &c.node)
	}
	p.follow(r, &c.node)
}

// Bugs that scenarios of the library assert.
var (
	earlyProbe       = &Known{Bug: "B8"}
	carriedStarted   = &Known{Bug: "B18", Issue: "#141155"}
	startedByRestart = &Known{Bug: "B19", Issue: "#142305"}
	carriedFailures  = &Known{Bug: "B22"}
	sidecarProbes    = &Known{Bug: "B36", Issue: "#141766"}
	startedUnstopped = &Known{Bug: "B70", Issue: "#135248"}
	readyWhileKilled = &Known{Bug: "C16", Issue: "#131690"}
	readyWhileEnding = &Known{Bug: "C17", Issue: "#129552"}
	readyUnstarted   = &Known{Scenario: "explored/ready-and-not-started-after-a-restart"}
	readyUnprobed    = &Known{Scenario: "explored/ready-before-a-new-kubelet-probes"}
	readyInFailed    = &Known{Scenario: "explored/ready-while-a-failed-pod-stops"}
	countFalls       = &Known{Scenario: "explored/restart-count-falls"}
	startedLate      = &Known{Scenario: "explored/started-after-its-deadline"}
	readyWaits       = &Known{Scenario: "explored/ready-waits-for-a-stop"}
	dueTick          = &Known{Scenario: "explored/stopped-worker-takes-a-tick"}
	lostResult       = &Known{Bug: "B54", Issue: "#139244"}
	lastProbe        = &Known{Scenario: "explored/stopped-worker-probes-once"}
)

func (c *checker) checkProbe(p *pod, k *container, r *trace.Record) {
	probe := k.of(r.Probe)
	spec := probe.spec
	if spec == nil {
		return
	}
	begin := began(r)
	if end, known := k.ended[r.Instance]; known && begin > end {
		c.broken(r, r.Container, noProbeAfterExit, "the "+string(r.Probe)+" probe", nil)
	}
	if r.Instance == k.instance && k.started > c.node.jumped {
		if early := delay(spec) - begin.Sub(k.started); early > 0 {
			var known *Known
			what := "the " + string(r.Probe) + " probe, by more than the fraction of the second of its start"
			if early <= c.node.fraction(k.started) {
				known, what = earlyProbe, "the "+string(r.Probe)+" probe, by less than a second"
			}
			c.broken(r, r.Container, noProbeBeforeDelay, what, known)
		}
	}
	if p.ending && begin > p.ends && r.Probe != trace.Readiness {
		var known *Known
		what := "the " + string(r.Probe) + " probe"
		switch {
		case k.sidecar:
			known, what = sidecarProbes, what+" of a sidecar"
		case !probe.worked && begin < c.node.since.Add(2*time.Duration(spec.PeriodSeconds)*time.Second):
			// A worker of a young kubelet sleeps before its first run, and then runs once before it
			// looks whether it was stopped: run in pkg/kubelet/prober/worker.go.
			known, what = lastProbe, what+", for the first time on a young kubelet"
		case probe.due && probe.last > p.ends && begin.Sub(probe.last) < atOnce:
			// After a probe, the worker selects among the stop and a tick that is due.
			known, what = dueTick, what+", after one that the stop did not wait for"
		}
		c.broken(r, r.Container, noProbeWhileTerminates, what, known)
	}
}

// reasons are the reasons of a stop that a probe causes.
var reasons = map[string]trace.Probe{"LivenessProbe": trace.Liveness, "StartupProbe": trace.Startup}

func (c *checker) checkStop(k *container, r *trace.Record) {
	probe, ok := reasons[r.Reason]
	of := k.of(probe)
	if !ok || r.Instance != k.instance || of.spec == nil {
		return
	}
	failures, threshold := of.streak, of.threshold(trace.Failure)
	switch {
	case failures >= threshold:
	case failures > 0 && failures+of.before >= threshold:
		c.broken(r, r.Container, killNeedsFailures,
			fmt.Sprintf("the instance before had failures of the %s probe, and they count", probe), carriedFailures)
	case failures == 0:
		c.broken(r, r.Container, killNeedsFailures, fmt.Sprintf("the %s probe has not failed last", probe), nil)
	default:
		c.broken(r, r.Container, killNeedsFailures, fmt.Sprintf("the %s probe has failed too few times", probe), nil)
	}
}

func (c *checker) checkStatus(p *pod, r *trace.Record) {
	if r.Status == nil {
		return
	}
	for i := range r.Status.Containers {
		s := &r.Status.Containers[i]
		k := p.containers[s.Name]
		if k != nil {
			c.checkCount(p, k, s, r)
			c.checkReady(p, k, s, r)
		}
	}
}

// checkCount checks the restartCount of a published status.
func (c *checker) checkCount(p *pod, k *container, s *trace.ContainerStatus, r *trace.Record) {
	if k.status != nil && s.RestartCount < k.status.RestartCount {
		what, known := "it falls", (*Known)(nil)
		if p.evicted > 0 && (k.idle || c.node.stopped > p.evicted) {
			// The containers of an evicted pod are removed, the newest one included. An older
			// one that never started stays, or a new kubelet, which does not know of the
			// eviction, starts again from zero.
			what, known = "an eviction has removed an instance", countFalls
		}
		c.broken(r, s.Name, restartCountGrows, what, known)
	}
}

// checkReady checks Ready and Started of a published status.
func (c *checker) checkReady(p *pod, k *container, s *trace.ContainerStatus, r *trace.Record) {
	before := k.status
	early := func(of *trace.ContainerStatus) bool { return of.State == "running" && of.Ready && !of.Started }
	if early(s) && (before == nil || !early(before) || before.RestartCount != s.RestartCount) {
		why, known := k.whyStarted(p, false) // Ready waits for the next sync, at any time
		c.broken(r, s.Name, readyNeedsStarted, why, known)
	}
	if s.State != "running" || int(s.RestartCount) != k.instance {
		return // the status of an instance before this one
	}
	if s.Started && k.of(trace.Startup).spec != nil && !k.up {
		why, known := k.whyStarted(p, k.noticed(r.T))
		c.broken(r, s.Name, startedNeedsSuccess, why, known)
	}
	if k.running && k.stopping != nil && s.Ready && before != nil && !before.Ready &&
		int(before.RestartCount) == k.instance && before.State == "running" {
		c.readyWhileStopping(p, k, s, r)
	}
}

// whyStarted says why the kubelet takes an instance for started whose startup probe has not
// succeeded. It computes Ready from that, and takes back only Started when the startup worker
// begins: SetContainerStartup in pkg/kubelet/status/status_manager.go changes nothing else.
func (k *container) whyStarted(p *pod, noticed bool) (string, *Known) {
	switch {
	case k.up && k.restart:
		return "it had started before a restart of the kubelet", readyUnstarted
	case k.of(trace.Startup).spec == nil || k.up:
		return "although nothing keeps it from being started", nil
	case k.restart && !noticed:
		return "since a restart of the kubelet", startedByRestart
	case k.carried && !noticed:
		return "the instance before had started", carriedStarted
	case p.late:
		return "the pod has exceeded its deadline", startedLate
	case p.unstopped:
		return "a stop of the pod has failed", startedUnstopped
	}
	return "without a success", nil
}

// noticed reports whether the startup worker of this kubelet has probed this instance for so long
// that a status shows it.
func (k *container) noticed(now virtual.Time) bool {
	first := k.of(trace.Startup).first
	return first != nil && now.Sub(*first) >= settleTime
}

// readyWhileStopping notes a container that becomes ready while it stops. The kubelet computes
// Ready without regard to a stop in progress: generateAPIPodStatus in pkg/kubelet/kubelet_pods.go.
// A container without a readiness worker is ready: UpdatePodStatus in
// pkg/kubelet/prober/prober_manager.go.
func (c *checker) readyWhileStopping(p *pod, k *container, s *trace.ContainerStatus, r *trace.Record) {
	if k.verdict == trace.Success && k.judged <= k.stopping.T {
		return // the result is from before the stop
	}
	reason := k.stopping.Reason
	what, known := "stopping because of "+reason, readyWhileKilled
	switch {
	case reason == "StartupProbe" && k.restart:
		known = startedByRestart
	case reason == "StartupProbe":
		known = nil // https://github.com/kubernetes/kubernetes/issues/135248
	case k.succeeded() && p.late && !k.up && k.of(trace.Startup).spec != nil:
		known = startedLate
	case k.succeeded() && p.endedBy(reason, &c.node):
		known = readyWhileEnding
	case k.succeeded():
	case k.restart && k.of(trace.Readiness).runs == nil:
		what, known = what+", before a new kubelet has probed it", readyUnprobed
	case p.fails(reason):
		what, known = what+", after its pod has failed", readyInFailed
	default:
		what, known = what+", without a success", nil
	}
	c.broken(r, s.Name, noReadyWhileStopping, what, known)
}

// succeeded reports whether the container has no readiness probe, or one whose last verdict is a
// success. Successes of the instance before count: B22.
func (k *container) succeeded() bool {
	last := k.of(trace.Readiness).runs
	carried := k.instance > 0 && last != nil && last.last == trace.Success
	return k.of(trace.Readiness).spec == nil || k.verdict == trace.Success || carried
}

// settleTime is how long results may take to be published.
const settleTime = 10 * time.Second

// settled checks at a time of the run whether the published status of each container agrees with
// its results, and notes since when it does not.
func (c *checker) settled(p *pod, key string, now virtual.Time) {
	for _, name := range p.names {
		k := p.containers[name]
		what, known := k.disagrees(p)
		if c.node.outages > 0 || p.ending || p.deleted || what == "" || what != k.wrong || c.node.disturbed > k.since {
			k.wrong, k.since = what, now
			continue
		}
		if now.Sub(k.since) >= settleTime {
			c.broken(&trace.Record{Pod: key, T: now}, name, settledStatusAgrees, what, known)
		}
	}
}

// isShown reports whether the published status is that of this instance, and running.
func (k *container) isShown() bool {
	return k.status != nil && k.status.State == "running" && int(k.status.RestartCount) == k.instance
}

// disagrees says in what the published status does not agree with the results of the probes; "" if
// it does.
func (k *container) disagrees(p *pod) (what string, known *Known) {
	s := k.status
	if !k.running || k.stopping != nil || k.killing || !k.isShown() {
		return "", nil
	}
	if last := k.of(trace.Startup).runs; last != nil && k.up && last.settled > 0 && !s.Started {
		return "the startup probe succeeded, and the container is not started", nil
	}
	last := k.of(trace.Readiness).runs
	if what = k.readyDisagrees(last); what == "" {
		return "", nil
	}
	if last != nil && p.synced[last.settled] {
		// A sync reads the results, and then stores the status as a whole: generateAPIPodStatus in
		// pkg/kubelet/kubelet_pods.go.
		return what + ", since a sync that began at the instant of the result", lostResult
	}
	if !s.Ready && k.up && (last == nil || last.settled <= k.upAt) && p.waits(k) {
		// The result of the startup probe changes Started alone, and the next sync has to wait:
		// SetContainerStartup in pkg/kubelet/status/status_manager.go.
		return what + ", while a sync of the pod waits for another container", readyWaits
	}
	return what, nil
}

// readyDisagrees says in what the published Ready does not agree with the results of the readiness
// probe; "" if it does.
func (k *container) readyDisagrees(last *runs) string {
	s, spec := k.status, k.of(trace.Readiness).spec
	switch {
	case !s.Started || k.init || spec == nil && s.Ready:
		return ""
	case spec == nil:
		return "the container has started and has no readiness probe, and is not ready"
	case last == nil || last.settled == 0 || (last.last == trace.Success) == s.Ready:
		return ""
	case s.Ready:
		return "the readiness probe fails, and the container is ready"
	}
	return "the readiness probe succeeds, and the container is not ready"
}
