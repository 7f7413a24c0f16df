package invariants

import (
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

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
