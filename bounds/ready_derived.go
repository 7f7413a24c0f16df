package bounds

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// derivesReady reports whether the rules of readyLimits hold for the container: it has a readiness probe, and no other container of its pod
// runs, so that only its own events lead to syncs.
func (s *Subject) derivesReady() bool {
	return s.Probe(trace.Readiness) != nil && s.alone() && !s.hooked()
}

// alone reports whether no other container of the pod runs beside the container, and nothing else decides when the pod is ready.
func (s *Subject) alone() bool {
	for i := range s.pod.Spec.InitContainers {
		if podutil.IsRestartableInitContainer(&s.pod.Spec.InitContainers[i]) {
			return false
		}
	}
	return len(s.pod.Spec.Containers) == 1 && len(s.pod.Spec.ReadinessGates) == 0
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
	case atOnce && r.startup == nil:
		least, greatest = r.atOnce()
	case atOnce:
		least, greatest = r.atOnceAfterStartup()
	case r.startup == nil:
		least, greatest = r.later()
		atOnceLeast, atOnceGreatest := r.atOnce()
		switch possible, sure := s.stopsBefore(n, &r); { // the program is then up at once, or at the run that would stop the container
		case sure:
			least, greatest = atOnceLeast, atOnceGreatest
		case possible:
			least, greatest = min(least, atOnceLeast), max(greatest, atOnceGreatest)
		}
	default:
		least, greatest = r.laterAfterStartup()
	}
	greatest += (r.successes - 1) * r.step
	if atOnce && r.startup == nil && r.successes > 1 && r.initialTriggers {
		greatest -= r.step - min(r.step, max(r.took.Max, r.wait))
	}
	return least + r.took.Min + r.write.Min, greatest + r.took.Max + r.writesAtMost()
}

// readying has the times that decide when a container becomes ready.
type readying struct {
	shown     fakeruntime.Draw // from the start until a sync shows it to the probes
	seconds   fakeruntime.Draw // of initialDelaySeconds of the readiness probe, which counts from the whole second before the start
	took      fakeruntime.Draw // of a run of the readiness probe
	write     fakeruntime.Draw // of a status in the API
	lists     fakeruntime.Draw // of the lists of a relist
	wait      time.Duration    // the longest time from an event to its sync
	next      time.Duration    // the least time from the sync that shows the start to the next one
	period    time.Duration
	step      time.Duration // the longest time from one run of the readiness probe to the next
	successes time.Duration // that the readiness probe needs
	resyncs   bool          // the kubelet can sync the pod without an event before the container is ready
	// initialTriggers says that the first look at the container leads to a run, and its initial result to a sync that triggers the next one.
	initialTriggers bool
	startup         *startupRun // nil if there is no startup probe
}

// startupRun has the times of the startup probe.
type startupRun struct {
	run   fakeruntime.Draw // from the start until the first run
	took  fakeruntime.Draw // of a run
	step  time.Duration    // the longest time from a run that fails to the next one; 0 if there is none
	delay time.Duration    // initialDelaySeconds
	// succeeds is the time from the start until the success, if the program comes up after the first run, or at the only one.
	succeeds fakeruntime.Draw
	// firstLook is the longest time from the start until the first run, if this is the first tick that sees the start. It leads to a sync.
	firstLook            time.Duration
	firstLookOfReadiness time.Duration // the same for the readiness probe
}

func (s *Subject) newReadying(n Nodes, atOnce bool) readying {
	p := s.Probe(trace.Readiness)
	r := readying{
		seconds: s.delays(trace.Readiness), took: n.draw(answerDelay(p)), write: n.sum(apiGet, apiPatch), lists: n.sum(listPodSandbox, listContainers),
		wait: n.longestWait(), next: time.Second, period: s.period(trace.Readiness), step: s.step(n, trace.Readiness), successes: time.Duration(p.SuccessThreshold),
	}
	r.shown.Min, r.shown.Max = s.shown(n, true)
	if s.Profile.PLEGOnDemandRelist { // a relist can begin when that of the pod ends
		r.next = r.lists.Min
	}
	if s.Probe(trace.Startup) != nil {
		r.startup = s.newStartupRun(n, r.shown)
	}
	r.resyncs = s.resyncsBeforeReady(n, &r, atOnce)
	r.initialTriggers = r.seconds.Max == 0 && !s.Profile.ContainerScopedProbes
	return r
}

// resyncsBeforeReady reports whether the kubelet can sync the pod without an event before the container is ready. It does so only a minute after
// another sync, and the initial result of a probe leads to one.
func (s *Subject) resyncsBeforeReady(n Nodes, r *readying, atOnce bool) bool {
	k := s.killer()
	until := r.seconds.Max
	switch {
	case r.startup != nil:
		started := r.startup.took.Max
		if r.startup.delay > 0 {
			started += r.startup.delay + s.period(trace.Startup)
		}
		if !atOnce {
			started += (s.failures(trace.Startup) - 1) * s.step(n, trace.Startup)
		}
		if started >= resync {
			return true
		}
	case atOnce:
	case k == "": // the program can be down for any time
		return true
	default:
		until = max(until, s.delay(k)+s.failures(k)*s.step(n, k))
	}
	return until+r.successes*r.step >= resync
}

// newStartupRun returns the times of the startup probe.
func (s *Subject) newStartupRun(n Nodes, shown fakeruntime.Draw) *startupRun {
	r := &startupRun{took: n.draw(answerDelay(s.Probe(trace.Startup))), delay: s.delay(trace.Startup)}
	if s.failures(trace.Startup) > 1 {
		r.step = s.step(n, trace.Startup)
	}
	begins, period := s.begins(n, trace.Startup), s.period(trace.Startup)
	r.run = s.firstRun(n, trace.Startup, begins)
	r.firstLook = nextTick(shown.Max, period, begins, true)
	r.firstLookOfReadiness = nextTick(shown.Max, s.period(trace.Readiness), begins, true)
	r.succeeds = fakeruntime.Draw{Min: r.run.Min + r.took.Min, Max: r.run.Max + (s.failures(trace.Startup)-1)*r.step + r.took.Max}
	if r.step > 0 {
		r.succeeds.Min += period
	}
	return r
}

// stopsBefore reports whether the liveness probe can stop a container that is not up before its readiness probe runs, and whether it surely
// does so.
func (s *Subject) stopsBefore(n Nodes, r *readying) (possible, sure bool) {
	p := trace.Liveness
	if s.Probe(p) == nil {
		return false, false
	}
	_, first := r.atOnce()
	least := max(r.shown.Min, s.delays(p).Min) + (s.failures(p)-1)*s.period(p)
	greatest := max(r.shown.Max, s.delays(p).Max) + s.failures(p)*s.step(n, p)
	return least <= first, greatest < max(r.shown.Min, r.seconds.Min)
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

// atOnce returns the least time until the last run that the probe needs begins, and the greatest until the first one, from a start at which the
// program is up.
//
// The first sync that shows the start triggers the probe. The probe wastes the trigger if it comes before the status is stored. Two more
// syncs can follow: one for the event of the relist, and one for the initial result of the probe (onNewContainer in worker.go).
func (r *readying) atOnce() (least, greatest time.Duration) {
	resets := fakeruntime.Draw{Min: r.shown.Min, Max: r.shown.Max + 2*r.wait}
	least = firstFrom(r.seconds.Min, r.period, resets) + (r.successes-1)*r.period
	earliest := max(r.shown.Min, r.seconds.Min)
	switch {
	case r.seconds.Min <= r.shown.Min:
		least = min(least, earliest+r.triggered(2, r.next))
	case r.seconds.Min <= resets.Max:
		least = min(least, earliest+r.triggered(2, 0))
	case r.seconds.Min <= r.shown.Max+r.period: // the first tick after a wasted trigger leads to the initial result
		least = min(least, max(r.seconds.Min, r.shown.Min+r.period)+r.triggered(1, 0))
	}
	if r.resyncs {
		least = min(least, earliest+r.triggered(1, 0))
	}
	if r.seconds.Max <= r.shown.Max {
		return least, r.shown.Max + r.period
	}
	return least, lastFrom(r.seconds.Max, r.period, resets)
}

// triggered returns the least time from the first run of the probe to the last one that it needs, if up to some of the later ones follow a sync.
// From a sync that leads to the first run, it takes some time to the next sync.
func (r *readying) triggered(syncs, next time.Duration) time.Duration {
	later := r.successes - 1
	syncs = min(syncs, later)
	if syncs == 0 {
		return later * r.period
	}
	least := max((later-syncs)*r.period+syncs*r.took.Min, min(next, r.period))
	if syncs > 1 && next > 0 { // the syncs wait for two relists, or a tick comes in between
		least = max(least, time.Second)
	}
	return least
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

// atOnceAfterStartup is atOnce for a container with a startup probe. The sync after its success triggers the readiness probe. Up to two more
// syncs can come after the success: for the initial results of both probes, and for the event of the relist.
func (r *readying) atOnceAfterStartup() (least, greatest time.Duration) {
	u := r.startup
	done := fakeruntime.Draw{Min: u.run.Min + u.took.Min, Max: u.run.Max + u.took.Max}
	resets := fakeruntime.Draw{Min: max(done.Min, r.shown.Min+r.next), Max: done.Max + 3*r.wait}
	least = firstFrom(r.seconds.Min, r.period, resets) + (r.successes-1)*r.period
	earliest, syncs := max(resets.Min, r.seconds.Min), time.Duration(0)
	switch {
	case r.seconds.Min <= resets.Max:
		syncs = r.syncsAfter(done.Min)
	case r.resyncs:
		syncs = 1
	}
	if r.successes > 1 {
		triggered := earliest + r.triggered(syncs, 0)
		if u.delay == 0 { // the first run of the startup probe leads to a sync, so the next ones wait for a relist
			next := u.run.Min + time.Second
			if r.successes == 2 && u.took.Min <= r.lists.Max { // the sync loop lists for its housekeeping, and takes both results together
				next = done.Min + r.lists.Min
			}
			triggered = max(triggered, next+max(0, r.successes-1-syncs)*r.period)
		}
		least = min(least, triggered)
	}
	greatest = done.Max + r.untilTriggered(r.shown.Max+max(r.period, 2*r.wait)+r.wait >= u.delay)
	greatest = max(greatest, u.firstLook+u.took.Max+r.untilTriggered(true))
	if r.seconds.Max > done.Min {
		greatest = max(greatest, lastFrom(r.seconds.Max, r.period, resets))
	}
	return least, greatest
}

// untilTriggered is the longest time from the success of the startup probe until the first run of the readiness probe. The sync that triggers it
// waits for a relist if another sync has come just before. Otherwise, it comes at once, and the status with the success of the startup probe
// can still be on its way when the readiness probe succeeds.
func (r *readying) untilTriggered(synced bool) time.Duration {
	if !synced && !r.resyncs {
		return r.lists.Max + max(0, r.write.Max-r.took.Max)
	}
	return min(r.wait, r.period)
}

// syncsAfter returns how many runs after the first one can follow syncs, from a success of the startup probe at some time after the start.
//
// The sync for the success comes first, or a tick if that sync waits for a relist after another sync. The start leads to other syncs: for the
// event of the relist and for the initial results of the probes. That of the readiness probe comes at its first tick that sees the start.
func (r *readying) syncsAfter(success time.Duration) time.Duration {
	others := max(r.shown.Max, r.startup.firstLook) + 3*r.wait // two syncs that wait for a relist, and that for the success
	switch look := r.startup.firstLookOfReadiness; {
	case success <= others:
		return 3
	case success <= look+r.lists.Max, look <= others && success <= look+3*r.wait:
		return 2
	case success <= look+r.lists.Max+r.wait, r.resyncs:
		return 1
	}
	return 0
}

// later returns the same times as atOnce, from a moment that is not before the first run of the readiness probe.
func (r *readying) later() (least, greatest time.Duration) {
	least = (r.successes - 1) * r.period
	if r.resyncs {
		least = min(least, r.triggered(1, 0))
	}
	if r.seconds.Min <= max(r.shown.Max+2*r.wait, r.shown.Max+r.period) {
		least = min(least, r.triggered(1, 0), r.triggered(2, r.next))
	}
	return least, r.step
}

// laterAfterStartup returns the same times as atOnceAfterStartup, from a moment that is not before the first run of the startup probe.
func (r *readying) laterAfterStartup() (least, greatest time.Duration) {
	u := r.startup
	syncs := r.syncsAfter(u.succeeds.Min)
	least = u.took.Min + r.triggered(syncs, 0)
	if later := r.successes - 1; syncs > 0 && later > 0 { // the next sync waits for a relist
		least = max(least, u.took.Min+r.lists.Min)
		if syncs > 2 && later > 1 { // the syncs wait for two relists, or a tick comes in between
			least = max(least, time.Second+max(0, later-3)*r.period)
		}
	}
	if wait := r.seconds.Min - u.succeeds.Max; wait > 3*r.wait { // after the syncs that follow the success
		least = max(least, wait+r.triggered(r.syncsAfter(r.seconds.Min), 0))
	}
	// Another sync can come just before the success if the readiness probe sees the start only then, or soon after the run that failed.
	synced := u.step <= 2*r.wait || u.step%r.period != 0 && r.period > u.step-2*time.Second
	greatest = u.took.Max + max(r.untilTriggered(true), u.step+r.untilTriggered(synced))
	seconds := r.seconds.Max - max(r.shown.Min, u.delay)
	for _, failed := range []time.Duration{0, u.step} { // up at a run, or just after it
		done := fakeruntime.Draw{Min: failed + u.took.Min, Max: failed + u.took.Max + 3*r.wait}
		if seconds > done.Min {
			greatest = max(greatest, lastFrom(seconds, r.period, done))
		}
	}
	return least, greatest
}
