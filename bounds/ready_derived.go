package bounds

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// derivesReady reports whether the rules of readyLimits hold for the container: it has a startup or a readiness probe, whose worker waits for a sync.
func (s *Subject) derivesReady() bool {
	return len(s.waiting()) > 0 && !s.Profile.ContainerScopedProbes
}

// startsAlone reports whether only the start of the container leads to syncs before the container is ready. A hook, or another container of its pod, can
// lead to more.
func (s *Subject) startsAlone() bool { return s.alone() && !s.hooked() }

// alone reports whether no other container of the pod runs beside the container, and nothing else decides when the pod is ready.
func (s *Subject) alone() bool {
	for i := range s.pod.Spec.InitContainers {
		if podutil.IsRestartableInitContainer(&s.pod.Spec.InitContainers[i]) {
			return false
		}
	}
	return len(s.pod.Spec.Containers) == 1 && len(s.pod.Spec.ReadinessGates) == 0
}

// ReadyLimits returns limits of UntilReady, or of UntilReadyOnYoungKubelet, that follow from the settings without a run: the limits over programs that are
// up at once and those that come up later. If exact is true, the greatest time over all nodes is the returned one, or less than a microsecond more, or the
// container does not become ready in some case.
func (s *Subject) ReadyLimits(n Nodes, onYoungKubelet bool) (least, greatest time.Duration, exact bool) {
	derives, never, limits := s.derivesReady, s.neverLater, s.readyLimits
	if onYoungKubelet {
		derives, never, limits = s.derivesReadyWhenYoung, s.neverLaterWhenYoung, s.readyLimitsWhenYoung
	}
	if !derives() {
		return 0, Never, false
	}
	least, greatest = limits(n, true)
	if !never(n) {
		leastLater, greatestLater := limits(n, false)
		least, greatest = min(least, leastLater), max(greatest, greatestLater)
	}
	return least, greatest, true
}

// readyLimits returns limits of the time from up until ready of a first instance. They follow from the rules of the kubelet, in any order of
// events at one instant.
//
// The readiness probe runs at each tick, and after each sync of a container that has started and is not ready. The sync triggers the
// probe, and the period begins again (run in pkg/kubelet/prober/worker.go and isContainerReady in
// pkg/kubelet/prober/prober_manager.go at v1.37.0). After the last success that the probe needs, the status manager reads the pod and
// writes its status.
func (s *Subject) readyLimits(n Nodes, atOnce bool) (least, greatest time.Duration) {
	r := s.newReadying(n, atOnce)
	switch {
	case r.startup != nil && !atOnce && s.lastConnection(n, trace.Startup).Max > 0:
		least, greatest = s.laterAfterConnection(n, &r)
	case r.startup != nil:
		least, greatest = s.afterStartup(n, r, atOnce)
	case atOnce:
		least, greatest = r.atOnce()
	default:
		least, greatest = r.later()
		greatest += (r.successes - 1) * r.step
		if r.successes > 1 { // the first success can come late in its run, closer to the next tick
			least = max(0, least-s.lastConnection(n, trace.Readiness).Max)
		}
	}
	least, greatest = s.withOtherSyncs(n, &r, atOnce, least, greatest)
	return least + r.took.Min + r.write.Min, greatest + r.took.Max + r.writesAtMost()
}

// disturbed reports whether syncs can come at any time: for the results of startup and readiness probes of other containers, for other containers that
// start after the container is up, and for conditions that others write (syncLoopIteration in pkg/kubelet/kubelet.go at v1.37.0). An exit of another
// container is not taken into account.
func (s *Subject) disturbed() bool {
	if len(s.pod.Spec.ReadinessGates) > 0 || podutil.IsRestartableInitContainer(s.container()) {
		return true
	}
	for c := range podutil.Containers(&s.pod.Spec) {
		if c.Name != s.Container && (c.StartupProbe != nil || c.ReadinessProbe != nil) {
			return true
		}
	}
	return false
}

// withOtherSyncs extends the times until the last run of the readiness probe begins by those with syncs at any time. Such a sync leads to a run once
// initialDelaySeconds is over, and before, it begins the period again (run in pkg/kubelet/prober/worker.go at v1.37.0).
func (s *Subject) withOtherSyncs(n Nodes, r *readying, atOnce bool, least, greatest time.Duration) (time.Duration, time.Duration) {
	if !s.disturbed() {
		return least, greatest
	}
	least = min(least, s.soonest(n, r, atOnce))
	if r.startup != nil { // the sync for its success can wait, since another one has come just before
		greatest += r.wait
	}
	delayed := max(r.shown.Max, r.seconds.Max)
	switch {
	case r.seconds.Max == 0,
		r.startup != nil && s.delay(trace.Startup) >= s.delay(trace.Readiness), // it is over before the startup probe succeeds
		r.startup == nil && !atOnce: // it is over before the program comes up
		return least, greatest
	case !atOnce: // the program comes up after a run of the startup probe
		first := s.firstRunAtLeast(r)
		delayed = max(r.shown.Max-first, r.seconds.Max-max(first, s.delay(trace.Startup)))
	}
	return least, max(greatest, delayed+r.period+(r.successes-1)*r.step)
}

// firstRunAtLeast returns the least time from the start to the first run of the probe that waits for the program.
func (s *Subject) firstRunAtLeast(r *readying) time.Duration {
	return max(r.shown.Min, s.delays(s.waiting()[0]).Min)
}

// soonest returns the least time until the last run of the readiness probe begins, if each run that it needs follows the one before at once. Workers that
// sleep have ticks in any phase.
func (s *Subject) soonest(n Nodes, r *readying, atOnce bool) time.Duration {
	first := s.firstRunAtLeast(r)
	switch {
	case !atOnce: // the program comes up just before
		return 0
	case r.startup == nil:
		return first
	case r.sleep:
		return max(first+r.startup.took.Min, r.seconds.Min)
	}
	started := Never
	for _, run := range s.startupRuns(n, r) {
		started = min(started, run.success().Min-run.starts.Max)
	}
	return max(started, first+r.startup.took.Min, r.seconds.Min)
}

// readying has the times that decide when a container becomes ready. A container without a readiness probe is ready with the sync that could lead to a
// run of this probe, so it is like one with a probe that takes no time and has no ticks (UpdatePodStatus in pkg/kubelet/prober/prober_manager.go at
// v1.37.0).
type readying struct {
	shown     fakeruntime.Draw // from the start until a sync shows it to the probes
	last      time.Duration    // the longest time from the start until a sync shows it that no sync for a later event follows; -Never if there is none
	settled   time.Duration    // the longest time from the start until the last of the syncs that follow it
	seconds   fakeruntime.Draw // of initialDelaySeconds of the readiness probe, which counts from the whole second before the start
	took      fakeruntime.Draw // of a run of the readiness probe
	write     fakeruntime.Draw // of a status in the API
	get       time.Duration    // the longest time in which the status manager reads the pod
	lists     fakeruntime.Draw // of the lists of a relist
	wait      time.Duration    // the longest time from an event to its sync
	next      time.Duration    // the least time from the sync that shows the start to the next one
	period    time.Duration
	step      time.Duration // the longest time from one run of the readiness probe to the next
	successes time.Duration // that the readiness probe needs
	sleep     bool          // the workers of the probes sleep first, as on a young kubelet
	resyncs   bool          // the kubelet can sync the pod without an event before the container is ready
	// initialTriggers says that the first look at the container leads to a run, and its initial result to a sync that triggers the next one.
	initialTriggers bool
	startup         *startupRun // that succeeds; nil if there is no startup probe
	// onDemand and mutable say that PLEGOnDemandRelist and MutableContainerProbes are on.
	onDemand, mutable bool
}

func (s *Subject) newReadying(n Nodes, atOnce bool) readying {
	r := readying{
		write: n.sum(apiGet, apiPatch), get: n.most(apiGet), lists: n.sum(listPodSandbox, listContainers), wait: n.longestWait(), next: time.Second,
		period: horizon, successes: 1,
	}
	if p := s.Probe(trace.Readiness); p != nil {
		r.seconds, r.took, r.successes = s.delays(trace.Readiness), n.draw(answerDelay(p)), time.Duration(p.SuccessThreshold)
		r.period, r.step = s.period(trace.Readiness), s.step(n, trace.Readiness)
	}
	r.shown.Min, r.shown.Max = s.shown(n, true)
	r.last, r.settled = s.shownLast(n), s.settles(n, &r)
	if s.Profile.PLEGOnDemandRelist { // a relist can begin when that of the pod ends
		r.next = r.lists.Min
	}
	if s.Probe(trace.Startup) != nil {
		r.startup = &startupRun{took: n.draw(answerDelay(s.Probe(trace.Startup)))}
	}
	if r.startup == nil {
		r.resyncs = s.resyncsBeforeReady(n, &r, atOnce)
	}
	r.initialTriggers = r.seconds.Max == 0
	r.onDemand, r.mutable = s.Profile.PLEGOnDemandRelist, s.Profile.MutableContainerProbes
	return r
}

// resyncsBeforeReady reports whether the kubelet can sync the pod without an event before the container is ready. It does so only a minute after
// another sync, and the initial result of a probe leads to one.
func (s *Subject) resyncsBeforeReady(n Nodes, r *readying, atOnce bool) bool {
	k := s.killer()
	until := r.seconds.Max
	switch {
	case atOnce:
	case k == "": // the program can be down for any time
		return true
	default:
		until = max(until, s.delay(k)+s.failures(k)*s.step(n, k))
	}
	return until+r.successes*r.step >= resync
}

// neverLater reports whether the liveness probe surely stops a container that is not up before its readiness probe runs. The sync that shows
// the start begins the period of the readiness probe, and the liveness probe counts from its next tick on. The delays of the node can decide which
// tick that is.
func (s *Subject) neverLater(n Nodes) bool {
	p := trace.Liveness
	if s.Probe(p) == nil || s.Probe(trace.Startup) != nil || !s.derivesReady() || !s.startsAlone() {
		return false
	}
	r := s.newReadying(n, false)
	last := s.lastConnection(n, p).Max // that can still succeed
	if s.derivesStart() {
		resets := fakeruntime.Draw{Min: r.shown.Min, Max: r.settled}
		first := min(firstFrom(r.seconds.Min, r.period, resets), max(r.seconds.Min, r.shown.Min+resync))
		if s.firstRun(n, p, s.begins(n, p)).Max+(s.failures(p)-1)*s.step(n, p)+last <= first {
			return true
		}
	}
	stops := max(0, s.delays(p).Max-r.shown.Min) + s.failures(p)*s.step(n, p) + last
	periods := max(0, r.seconds.Min-r.settled+r.period-1) / r.period
	runs := max(periods*r.period, r.seconds.Min-r.shown.Max)
	if r.seconds.Min > r.shown.Max { // not with the sync that shows the start
		runs = max(runs, min(r.period, r.next))
	}
	return stops <= runs
}

// delays returns the times of the end of initialDelaySeconds after the start.
func (s *Subject) delays(p trace.Probe) fakeruntime.Draw {
	if d := s.delay(p); d > 0 {
		return fakeruntime.Draw{Min: d - time.Second, Max: d}
	}
	return fakeruntime.Draw{}
}

// sum returns the range of the sum of some delays.
func (n Nodes) sum(list ...delay) fakeruntime.Draw {
	var sum fakeruntime.Draw
	for _, of := range list {
		sum.Min, sum.Max = sum.Min+n.draw(of).Min, sum.Max+n.draw(of).Max
	}
	return sum
}

// writesAtMost is the longest time from the last success until the API has the status. The sync loop takes the success later if it lists
// what runs for its housekeeping. A status that is being written comes first. It comes from a sync, and a run of the probe that no sync
// leads to is at least a second later.
func (r *readying) writesAtMost() time.Duration {
	if 2*r.write.Max < time.Second {
		return r.lists.Max + r.write.Max
	}
	return r.lists.Max + 2*r.write.Max
}

// atOnce returns the least and the greatest time until the last run that the probe needs begins, from a start at which the program is up.
//
// The first sync that shows the start triggers the probe. The probe wastes the trigger if it comes before the status is stored. Two more
// syncs can follow: one for the event of the relist, and one for the initial result of the probe (onNewContainer in worker.go).
func (r *readying) atOnce() (least, greatest time.Duration) {
	resets := fakeruntime.Draw{Min: r.shown.Min, Max: r.settled}
	least = firstFrom(r.seconds.Min, r.period, resets) + (r.successes-1)*r.period
	earliest := max(r.shown.Min, r.seconds.Min)
	if earliest > resets.Max { // the first run can follow a sync without an event, a minute after another one
		earliest = max(earliest, r.shown.Min+resync)
	}
	if earliest <= resets.Max || r.resyncs {
		least = min(least, earliest+r.untilLastAfterStart(earliest))
	}
	if r.seconds.Min <= r.shown.Max+r.period { // the first tick after a wasted trigger leads to the initial result
		least = min(least, max(r.seconds.Min, r.shown.Min+r.period)+r.triggered(1, 0))
	}
	switch greatest = (r.successes - 1) * r.step; {
	case r.seconds.Max <= min(r.shown.Max, r.next):
		return least, r.atOnceAtMost()
	case r.seconds.Max <= r.shown.Max:
		return least, greatest + r.shown.Max + r.period
	}
	return least, greatest + lastFrom(r.seconds.Max, r.period, r.resyncing(resets))
}

// resyncing returns the range of the times at which a sync begins the period of the probe. It includes syncs without an event before the end of
// initialDelaySeconds.
func (r *readying) resyncing(resets fakeruntime.Draw) fakeruntime.Draw {
	if resets.Min+resync <= r.seconds.Max {
		resets.Max = max(resets.Max, r.seconds.Max)
	}
	return resets
}

// firstFrom returns the least time, from a moment on, of a tick. The ticks begin in a range of times.
func firstFrom(moment, period time.Duration, begin fakeruntime.Draw) time.Duration {
	if moment <= begin.Max {
		return max(moment, begin.Min)
	}
	periods := (moment - begin.Max + period - 1) / period
	return max(moment, begin.Min+periods*period)
}

// lastFrom returns the greatest time of the first tick from a moment on. The ticks begin in a range of times before.
func lastFrom(moment, period time.Duration, begin fakeruntime.Draw) time.Duration {
	periods := max(0, (moment-begin.Max+period-1)/period)
	if moment-periods*period > begin.Min {
		return moment + period
	}
	return begin.Max + periods*period
}

// later returns the same times as atOnce, from a moment that is not before the first run of the readiness probe.
func (r *readying) later() (least, greatest time.Duration) {
	least = r.untilLastAfterStart(r.seconds.Min)
	if r.resyncs || r.seconds.Min <= r.shown.Max+r.period { // the first tick after a wasted trigger leads to the initial result
		least = min(least, r.triggered(1, 0))
	}
	return least, r.step
}
