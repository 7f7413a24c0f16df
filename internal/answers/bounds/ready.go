package bounds

import (
	"time"

	"probesim.dev/internal/podutil"
)

// UntilReady returns the time from the moment at which the program of the first instance is up
// until the status in the API says that the container is ready, on a kubelet that is older than the
// periods of the probes. If atOnce is true, the program is up when the container starts; otherwise
// it comes up after the first run of the probe that waits for it, and before the last one, or
// before the run of a probe that stops the container. If that run always comes first, the program
// must be up when the container starts. The time is 0 without a startup and a readiness probe.
//
// The readiness probe runs at each tick, and after each sync of a container that has started and is
// not ready. The sync triggers the probe, and the period begins again (run in
// pkg/kubelet/prober/worker.go and isContainerReady in pkg/kubelet/prober/prober_manager.go at
// v1.37.0). After the last success that the probe needs, the status manager reads the pod and
// writes its status.
func (c *Container) UntilReady(atOnce bool) Time {
	if c.waiting() == nil {
		return Time{}
	}
	atOnce = atOnce || c.neverLater()
	if c.scoped() {
		return Time{c.scopedReady(atOnce), c.meanReady(atOnce)}
	}
	r := c.newReadyTiming(atOnce)
	var until Range
	switch {
	case r.startup != nil && !atOnce && c.startup.lastChance().Greatest > 0:
		until = c.laterAfterConnection(&r)
	case c.manyPhases():
		return Time{c.untilLastWhenYoung(&r, atOnce).plus(r.untilWritten()), c.meanReady(atOnce)}
	case r.startup != nil:
		until = c.afterStartup(r, atOnce)
	case atOnce:
		until = r.atOnce()
	default:
		until = r.later()
		until.Greatest += (r.successes - 1) * r.step
		if r.successes > 1 { // the first success can come late in its run, closer to the next tick
			until.Least = max(0, until.Least-c.readiness.lastChance().Greatest)
		}
	}
	return Time{c.withOtherSyncs(&r, atOnce, until).plus(r.untilWritten()), c.meanReady(atOnce)}
}

// UntilReadyOnYoungKubelet is UntilReady for a kubelet that is younger than the periods of the
// startup and the readiness probe when the pod begins. The worker of each probe then sleeps for a
// random part of its period before its first run (run in pkg/kubelet/prober/worker.go at v1.37.0).
func (c *Container) UntilReadyOnYoungKubelet(atOnce bool) Time {
	if !c.SleepsWhenYoung() {
		return c.UntilReady(atOnce)
	}
	atOnce = atOnce || c.neverLaterWhenYoung()
	r := c.newReadyTiming(atOnce)
	return Time{Range: c.untilLastWhenYoung(&r, atOnce).plus(r.untilWritten())}
}

// SleepsWhenYoung reports whether the workers of the probes that decide when the container becomes
// ready sleep on a young kubelet. With ContainerScopedProbes, only those of containers that ran
// before the kubelet do.
func (c *Container) SleepsWhenYoung() bool { return c.waiting() != nil && !c.scoped() }

// meanReady returns the mean of the time until ready over the phases at which a program comes up
// later, on the node in the middle of the latencies: half a period of the probe that waits for it,
// and what follows without a wait. It is 0 if more decides, such as several successes, or a run
// that connects again.
func (c *Container) meanReady(atOnce bool) time.Duration {
	m := c.AtMiddle()
	p, r := m.waiting(), m.readiness
	if atOnce || p.reconnects() || r != nil && r.successes > 1 {
		return 0
	}
	mean := p.answer.Least + m.node.write().Least
	switch timing := m.newReadyTiming(false); {
	case p == r && m.liveness == nil:
		return mean + m.untilRun(p.period)
	// further syncs lead to runs, or less than a period is left
	case p == r && (timing.resyncs || timing.seconds.Least <= timing.settled ||
		m.liveness.stopsBefore(r.delay+r.period)):
		return 0
	case p == r:
	// the delay is not over, or the first look of the readiness probe leads to a sync
	case m.disturbed(), r != nil && (p.delay < r.delay || p.failures*p.period < 2*r.period):
		return 0
	case r != nil:
		mean += r.answer.Least
	}
	return mean + p.period/2
}

// stopsBefore reports whether the last run of the probe that its threshold needs comes before some
// time since a start.
func (p *probe) stopsBefore(d time.Duration) bool { return p.delay+(p.failures-1)*p.period < d }

// untilRun returns the mean time to the next run of a readiness probe, long after the start of a
// container that is not ready. A sync without an event comes a minute to a minute and a half after
// the one before, leads to a run, and begins the period again.
func (c *Container) untilRun(period time.Duration) time.Duration {
	const steps = 32
	var squares, sum float64
	for _, cycle := range (Range{resync, resync + resync/2}).parts(steps) {
		cycle += time.Second / 2 // the sync loop looks once a second
		whole := cycle / period
		rest := (cycle - whole*period).Seconds()
		squares += float64(whole)*period.Seconds()*period.Seconds() + rest*rest
		sum += cycle.Seconds()
	}
	return time.Duration(squares / (2 * sum) * float64(time.Second))
}

// readyTiming has the times that decide when a container becomes ready. A container without a
// readiness probe is ready with the sync that could lead to a run of this probe, so it is like one
// with a probe that takes no time and has no ticks (UpdatePodStatus in
// pkg/kubelet/prober/prober_manager.go at v1.37.0).
type readyTiming struct {
	shown Range // from the start until a sync shows it to the probes
	// the longest time from the start until a sync shows it that no sync for a later event follows;
	// -Never if there is none
	last    time.Duration
	settled time.Duration // the longest time from the start until the last of the syncs that follow it
	// of initialDelaySeconds of the readiness probe, which counts from the whole second before the
	// start
	seconds   Range
	took      Range         // of a run of the readiness probe
	write     Range         // of a status in the API
	get       time.Duration // the longest time in which the status manager reads the pod
	lists     Range         // of the lists of a relist
	wait      time.Duration // the longest time from an event to its sync
	next      time.Duration // the least time from the sync that shows the start to the next one
	period    time.Duration
	step      time.Duration // the longest time from one run of the readiness probe to the next
	successes time.Duration // that the readiness probe needs
	sleep     bool          // the workers of the probes sleep first, as on a young kubelet
	resyncs   bool          // the kubelet can sync the pod without an event before the container is ready
	// initialTriggers says that the first look at the container leads to a run, and its initial
	// result to a sync that triggers the next one.
	initialTriggers bool
	onDemand        bool // PLEGOnDemandRelist is on
	// another sync can come just before the last one, that for the success of the startup probe
	disturbed bool
	startup   *startupRun // that succeeds; nil if there is no startup probe
}

func (c *Container) newReadyTiming(atOnce bool) readyTiming {
	n := &c.node
	r := readyTiming{
		write: n.write(), get: n[apiGet].Greatest, lists: n.lists(), wait: n.longestWait(), next: relistPeriod,
		period: LongestLimit, successes: 1, onDemand: c.settings.Profile.PLEGOnDemandRelist, shown: c.shown(true),
	}
	if p := c.readiness; p != nil {
		r.seconds, r.took, r.successes, r.period, r.step = p.delayed(), p.answer, p.successes, p.period,
			p.step().Greatest
	}
	r.last, r.settled = c.shownLast(), c.settles(&r)
	if r.onDemand { // a relist can begin when that of the pod ends
		r.next = r.lists.Least
	}
	if c.startup != nil {
		r.startup, r.disturbed = &startupRun{took: c.startup.answer}, c.readiness == nil && c.disturbed()
		if c.startup.answer.Least == 0 { // the readiness probe can run at the tick of the success, without a sync
			r.next = 0
		}
	} else {
		r.resyncs = c.resyncsBeforeReady(&r, atOnce)
	}
	// the sync before goes on while the next container of a sidecar starts
	r.initialTriggers = r.seconds.Greatest == 0 && !c.sidecar()
	return r
}

// resyncsBeforeReady reports whether the kubelet can sync the pod without an event before the
// container is ready. It does so only a minute after another sync, and the initial result of a
// probe leads to one.
func (c *Container) resyncsBeforeReady(r *readyTiming, atOnce bool) bool {
	k, until := c.killer(), r.seconds.Greatest
	switch {
	case atOnce:
	case k == nil: // the program can be down for any time
		return true
	default:
		until = max(until, k.delay+k.failures*k.step().Greatest)
	}
	return until+r.successes*r.step >= resync
}

// settles returns the greatest time from a first start until the last of the syncs that follow it,
// apart from those that come a period later. After the sync that shows the start, two more can
// come: for another event of its relist, and for the initial result of the readiness probe. Each of
// them waits for a relist that begins after the sync before (podWorkerLoop in
// pkg/kubelet/pod_workers.go at v1.37.0).
//
// Up to v1.35, the first sync comes the latest if R1 of shown.go has listed the container just
// before the start: R1 inspects the pod, and so does R2 a second later. With PLEGOnDemandRelist, R2
// comes at once, and the next global relist can begin before the first sync: the sync loop takes
// the first event later if it lists what runs for its housekeeping. The last result does not come
// during such lists too, or the times count them twice.
func (c *Container) settles(r *readyTiming) time.Duration {
	lists, inspects := r.lists.Greatest, c.inspects(true)
	switch slow := r.shown.Greatest >= relistPeriod || !c.startsAlone(); {
	case !r.onDemand && lists < relistPeriod && c.startsAlone():
		return 3*relistPeriod + 3*lists + 2*inspects
	case !r.onDemand || slow:
		return r.shown.Greatest + 2*r.wait
	case 4*lists+r.took.Greatest < relistPeriod:
		return 2*relistPeriod + 4*lists + inspects
	}
	return 2*relistPeriod + 5*lists + inspects
}

// neverLater reports whether the liveness probe surely stops a container that is not up before its
// readiness probe runs. The sync that shows the start begins the period of the readiness probe, and
// the liveness probe counts from its next tick on. The delays of the node can decide which tick
// that is.
func (c *Container) neverLater() bool {
	p := c.liveness
	if p == nil || c.startup != nil || c.readiness == nil || !c.startsAlone() {
		return false
	}
	last := p.lastChance().Greatest // that can still succeed
	if c.scoped() {
		return p.delay+p.later(p.failures-1).Greatest+last <= c.readiness.delay
	}
	r := c.newReadyTiming(false)
	resets := Range{r.shown.Least, r.settled}
	first := min(firstFrom(r.seconds.Least, r.period, resets), max(r.seconds.Least, r.shown.Least+resync))
	if c.firstRun(p).Greatest+p.later(p.failures-1).Greatest+last <= first {
		return true
	}
	stops := max(0, p.delayed().Greatest-r.shown.Least) + p.later(p.failures).Greatest + last
	periods := max(0, r.seconds.Least-r.settled+r.period-1) / r.period
	runs := max(periods*r.period, r.seconds.Least-r.shown.Greatest)
	if r.seconds.Least > r.shown.Greatest { // not with the sync that shows the start
		runs = max(runs, min(r.period, r.next))
	}
	return stops <= runs
}

// disturbed reports whether syncs can come at any time: for the results of startup and readiness
// probes of other containers, for other containers that start after the container is up, and for
// conditions that others write (syncLoopIteration in pkg/kubelet/kubelet.go at v1.37.0). Those that
// a sidecar with a startup probe holds back start too late to matter to one without a readiness
// probe. An exit of another container is not taken into account.
func (c *Container) disturbed() bool {
	if len(c.pod.ReadinessGates) > 0 || c.sidecar() && c.readiness != nil {
		return true
	}
	for other := range podutil.Containers(c.pod) {
		if other.Name != c.spec.Name && (other.StartupProbe != nil || other.ReadinessProbe != nil) {
			return true
		}
	}
	return false
}

// withOtherSyncs extends the times until the last run of the readiness probe begins by those with
// syncs at any time. Such a sync leads to a run once initialDelaySeconds is over, and before, it
// begins the period again (run in pkg/kubelet/prober/worker.go at v1.37.0).
func (c *Container) withOtherSyncs(r *readyTiming, atOnce bool, until Range) Range {
	if !c.disturbed() {
		return until
	}
	until.Least = min(until.Least, c.soonest(r, atOnce))
	switch {
	case r.startup == nil:
	case r.disturbed && !c.startup.reconnects(): // firstTriggered has the wait
		return until
	default: // the sync for its success can wait
		until.Greatest += r.wait
	}
	delayed := max(r.shown.Greatest, r.seconds.Greatest)
	switch {
	case r.seconds.Greatest == 0 && (r.startup != nil || !c.sidecar()),
		r.startup != nil && c.startup.delay >= c.readiness.delay, // it is over before the startup probe succeeds
		r.startup == nil && !atOnce:                              // it is over before the program comes up
		return until
	case !atOnce: // the program comes up after a run of the startup probe
		first := c.firstRunAtLeast(r)
		delayed = max(r.shown.Greatest-first, r.seconds.Greatest-max(first, c.startup.delay))
	}
	until.Greatest = max(until.Greatest, delayed+r.period+(r.successes-1)*r.step)
	return until
}

// firstRunAtLeast returns the least time from the start to the first run of the probe that waits
// for the program.
func (c *Container) firstRunAtLeast(r *readyTiming) time.Duration {
	return max(r.shown.Least, c.waiting().delayed().Least)
}

// soonest returns the least time until the last run of the readiness probe begins, if each run that
// it needs follows the one before at once. Workers that sleep have ticks in any phase.
func (c *Container) soonest(r *readyTiming, atOnce bool) time.Duration {
	first := c.firstRunAtLeast(r)
	switch {
	case !atOnce: // the program comes up just before
		return 0
	case r.startup == nil:
		return first
	case r.sleep:
		return max(first+r.startup.took.Least, r.seconds.Least)
	}
	started := Never
	for _, run := range c.startupRuns(r) {
		started = min(started, run.success().Least-run.starts.Greatest)
	}
	return max(started, first+r.startup.took.Least, r.seconds.Least)
}

// untilWritten returns the time from the begin of the last run that the probe needs until the API
// has the status. The sync loop takes the success later if it lists what runs for its housekeeping.
// A status that is being written comes first. It comes from a sync, and a run of the probe that no
// sync leads to is at least a second later.
func (r *readyTiming) untilWritten() Range {
	until := r.took.plus(r.write, Range{0, r.lists.Greatest})
	if 2*r.write.Greatest >= time.Second {
		until.Greatest += r.write.Greatest
	}
	return until
}

// atOnce returns the time until the last run that the probe needs begins, from a start at which the
// program is up.
//
// The first sync that shows the start triggers the probe. The probe wastes the trigger if it comes
// before the status is stored. Two more syncs can follow: one for the event of the relist, and one
// for the initial result of the probe (onNewContainer in worker.go).
func (r *readyTiming) atOnce() (until Range) {
	resets := Range{r.shown.Least, r.settled}
	until.Least = firstFrom(r.seconds.Least, r.period, resets) + (r.successes-1)*r.period
	earliest := max(r.shown.Least, r.seconds.Least)
	if earliest > resets.Greatest { // the first run can follow a sync without an event, a minute after another one
		earliest = max(earliest, r.shown.Least+resync)
	}
	if earliest <= resets.Greatest || r.resyncs {
		until.Least = min(until.Least, earliest+r.untilLastAfterStart(earliest))
	}
	// the first tick after a wasted trigger leads to the initial result
	if r.seconds.Least <= r.shown.Greatest+r.period {
		until.Least = min(until.Least, max(r.seconds.Least, r.shown.Least+r.period)+r.triggered(1, 0))
	}
	until.Greatest = r.atOnceAtMost(resets)
	return until
}

// atOnceAtMost is the greatest time of atOnce.
func (r *readyTiming) atOnceAtMost(resets Range) time.Duration {
	later := (r.successes - 1) * r.step
	switch {
	case r.seconds.Greatest <= min(r.shown.Greatest, r.next):
		return r.afterWastedTrigger()
	case r.seconds.Greatest <= r.shown.Greatest:
		return later + r.shown.Greatest + r.period
	}
	return later + lastFrom(r.seconds.Greatest, r.period, r.resyncing(resets))
}

// afterWastedTrigger returns the greatest time from a start at which the program is up until the
// last run that the probe needs, if initialDelaySeconds is over before the second sync. If the
// probe wastes the trigger of the first sync, its first look comes with the next sync or at the
// next tick, and its initial result leads to another run.
func (r *readyTiming) afterWastedTrigger() time.Duration {
	atTick := r.last + r.period + r.untilLastAfterLook(r.took.Greatest)
	// the housekeeping can delay more than one of the event and the results
	if r.lists.Greatest+r.successes*r.took.Greatest >= time.Second {
		atTick += 2 * r.lists.Greatest
	}
	return max(atTick, r.shown.Greatest+min(r.period, r.wait)+r.untilLastAfterLook(max(r.took.Greatest, r.wait)))
}

// untilLastAfterLook returns the longest time from the first look of the probe to the last run that
// it needs, if the sync for its initial result can lead to the second run after some time.
func (r *readyTiming) untilLastAfterLook(triggered time.Duration) time.Duration {
	later := r.successes - 1
	if later == 0 || !r.initialTriggers {
		return later * r.step
	}
	return (later-1)*r.step + min(r.step, triggered)
}

// resyncing returns the range of the times at which a sync begins the period of the probe. It
// includes syncs without an event before the end of initialDelaySeconds.
func (r *readyTiming) resyncing(resets Range) Range {
	if resets.Least+resync <= r.seconds.Greatest {
		resets.Greatest = max(resets.Greatest, r.seconds.Greatest)
	}
	return resets
}

// later returns the same times as atOnce, from a moment that is not before the first run of the
// readiness probe.
func (r *readyTiming) later() (until Range) {
	until = Range{r.untilLastAfterStart(r.seconds.Least), r.step}
	// the first tick after a wasted trigger leads to the initial result
	if r.resyncs || r.seconds.Least <= r.shown.Greatest+r.period {
		until.Least = min(until.Least, r.triggered(1, 0))
	}
	return until
}

// ReadyUnasked returns the time from the start of the first instance until the status in the API
// says that it is ready, if the container has neither a startup nor a readiness probe: the first
// status that shows it running also shows it as ready (UpdatePodStatus in
// pkg/kubelet/prober/prober_manager.go at v1.37.0). A status that is being written comes first.
func (c *Container) ReadyUnasked() Range {
	write := c.node.write()
	return c.shown(true).plus(write, Range{0, write.Greatest})
}
