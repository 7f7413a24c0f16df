package bounds

import "time"

// neverLaterWhenYoung is neverLater on a young kubelet, on which the two probes can have any phase
// against each other.
func (c *Container) neverLaterWhenYoung() bool {
	p := c.liveness
	if p == nil || c.startup != nil || c.readiness == nil || !c.startsAlone() {
		return false
	}
	r := c.newReadyTiming(false)
	stops := max(0, p.delayed().Greatest-r.shown.Least) + p.later(p.failures).Greatest + p.lastChance().Greatest
	return stops <= r.seconds.Least-r.shown.Greatest
}

// untilLastWhenYoung returns the time until the last run of the readiness probe begins on a young
// kubelet. The workers of the two probes sleep for random times, so their ticks have any phase
// against the start and against each other. A sync that comes while the worker of the readiness
// probe sleeps leads to a run just after its first one.
func (c *Container) untilLastWhenYoung(r *readyTiming, atOnce bool) (until Range) {
	r.sleep = true
	switch {
	case c.readiness == nil && !atOnce && c.startup.lastChance().Greatest > 0:
		return c.withOtherSyncs(r, atOnce, c.laterAfterConnection(r))
	case c.readiness == nil: // only the phase of the start against the ticks of the startup probe is another one
		return c.withOtherSyncs(r, atOnce, c.afterStartup(*r, atOnce))
	}
	// the longest time from the start until the first run of the readiness probe
	wakes := r.period - c.begins(c.readiness).Least
	r.resyncs = r.resyncs || wakes+r.successes*r.step >= resync
	switch {
	case r.startup != nil:
		until = c.afterSleeps(r, wakes, atOnce)
	case atOnce:
		until = r.atOnceWhenYoung(wakes)
	default:
		until = Range{r.triggered(r.syncsWhenYoung(r.seconds.Least, r.resetsWhenYoung(wakes)), 0), r.successes * r.step}
		if r.successes > 1 {
			until.Least = max(0, until.Least-c.readiness.lastChance().Greatest)
		}
	}
	return c.withOtherSyncs(r, atOnce, until)
}

// startupWhenYoung returns the time from the start until the first run of the startup probe.
func (c *Container) startupWhenYoung(r *readyTiming) Range {
	seconds := c.startup.delayed()
	return Range{max(r.shown.Least, seconds.Least), max(r.shown.Greatest, seconds.Greatest) + c.startup.period}
}

// stepToSuccess returns the longest time from the moment at which a program comes up, after a run
// of the startup probe, to its next run. With a threshold of 1, the program comes up when the only
// run begins.
func (c *Container) stepToSuccess() time.Duration {
	p := c.startup
	if p.failures == 1 && p.lastChance().Greatest == 0 {
		return 0
	}
	return p.step().Greatest
}

// syncsWhenYoung is the greatest number of runs that can follow the first one because of syncs: the
// one for which a trigger waits when the worker wakes up, those for its initial result and for an
// event of a relist, and one without an event. If the first run comes after the syncs that begin
// the period, only the last one is left.
func (r *readyTiming) syncsWhenYoung(first time.Duration, resets Range) time.Duration {
	// with the first look a period after a wasted trigger
	if first > max(resets.Greatest, r.shown.Greatest+r.period+r.wait) {
		return r.resync()
	}
	return 3 + r.resync()
}

// resetsWhenYoung returns the times from the start until a sync begins the period of the readiness
// probe. Long after the start, a sync comes at once.
func (r *readyTiming) resetsWhenYoung(wakes time.Duration) Range {
	return Range{r.shown.Least, max(r.settled+r.wait, wakes+r.lists.Greatest)}
}

// atOnceWhenYoung is atOnce on a young kubelet.
func (r *readyTiming) atOnceWhenYoung(wakes time.Duration) Range {
	resets := r.resyncing(r.resetsWhenYoung(wakes))
	first := firstFrom(r.seconds.Least, r.period, resets)
	if r.resyncs {
		first = max(r.seconds.Least, r.shown.Least)
	}
	if later := r.successes - 1; later > 0 { // the second run follows the first one at once
		wakes += r.took.Greatest + (later-1)*r.step
	}
	return Range{first + r.triggered(r.syncsWhenYoung(first, resets), 0), max(wakes, r.atOnceAtMost(resets))}
}

// afterSleeps is afterStartup on a young kubelet. Times count from the start, or from the moment at
// which the program comes up later.
func (c *Container) afterSleeps(r *readyTiming, wakes time.Duration, atOnce bool) Range {
	p := c.startup
	if c.readiness.delay <= p.delay { // both count from the same second
		r.seconds = Range{}
	}
	s := sleeps{readyTiming: r, atOnce: atOnce, first: c.startupWhenYoung(r), startupPeriod: p.period,
		startupDelayed: p.delay > 0}
	s.last = s.first.Greatest // the last run that can succeed, from the start
	s.looks = r.shown.Greatest + r.period
	s.done, s.delay = s.first.plus(r.startup.took), r.seconds
	s.earliest = max(s.done.Least, r.seconds.Least)
	if !atOnce {
		s.last += p.later(p.failures - 1).Greatest
		s.looks -= s.first.Least
		s.done = r.startup.took.plus(Range{0, c.stepToSuccess()})
		s.earliest = max(s.done.Least, r.seconds.Least-s.last)
		s.delay = Range{max(0, r.seconds.Least-s.last), max(0, r.seconds.Greatest-s.first.Least)}
		wakes -= s.first.Least
	}
	r.resyncs = max(s.last+r.startup.took.Greatest+3*r.wait, r.period+2*r.wait, r.seconds.Greatest)+
		r.successes*r.step >= resync
	resets := Range{s.done.Least, max(s.done.Greatest+3*r.wait, s.looks+r.wait)}
	return Range{s.least(resets), s.greatest(resets, wakes)}
}

// sleeps are the times of a container with a startup and a readiness probe on a young kubelet.
type sleeps struct {
	*readyTiming
	atOnce   bool
	first    Range         // run of the startup probe, from the start
	last     time.Duration // run of the startup probe that can succeed, from the start
	done     Range         // its success
	delay    Range         // the end of initialDelaySeconds of the readiness probe
	earliest time.Duration // run of the readiness probe
	// the latest first look of the readiness probe, whose worker wakes up just before the sync that
	// shows the start
	looks time.Duration

	startupPeriod  time.Duration
	startupDelayed bool // it has initialDelaySeconds
}

// least returns the least time until the last run of the readiness probe begins. Syncs begin its
// period again in a range of times.
func (s *sleeps) least(resets Range) time.Duration {
	first := s.earliest
	if s.atOnce && !s.resyncs {
		first = firstFrom(s.delay.Least, s.period, resets)
	}
	syncs := s.syncsWhenYoung(first, resets)
	if s.done.Least > s.looks+s.wait { // no sync is left but that for the success
		syncs = min(syncs, 1+s.resync())
	}
	return first + s.triggered(syncs, 0)
}

// greatest returns the greatest time. The worker of the readiness probe wakes up after some time at
// the latest.
func (s *sleeps) greatest(resets Range, wakes time.Duration) time.Duration {
	behind := max(s.behind(), s.get) // the status manager is still at work
	greatest := max(s.done.Greatest+behind, s.waited(behind))
	if s.delay.Greatest > 0 {
		if s.resyncs {
			resets.Greatest = max(resets.Greatest, s.delay.Greatest)
		}
		greatest = max(greatest, lastFrom(s.delay.Greatest, s.period, resets))
	}
	greatest += (s.successes - 1) * s.step
	if wakes += behind; s.successes > 1 { // the sync after the success leads to the second run
		wakes += min(s.step, max(s.took.Greatest, s.wait)) + (s.successes-2)*s.step
	}
	return max(greatest, wakes)
}

// waited returns the greatest time until the first run of the readiness probe if the sync for the
// success of the startup probe comes just after another one.
func (s *sleeps) waited(behind time.Duration) time.Duration {
	waits := s.relist() + s.lists.Greatest
	if waits < s.write.Greatest+s.get {
		waits += s.get
	}
	took := s.startup.took.Greatest
	looked := s.looks + max(0, s.startupPeriod-s.period) // the last event before the success
	if s.shown.Least+resync <= s.last+took {
		looked = s.done.Greatest
	}
	waited := min(s.done.Greatest, looked+s.wait) + min(waits, s.lists.Greatest+s.period+behind)
	if s.atOnce && !s.startupDelayed {
		waited = min(waited, s.shown.Greatest+s.waitsAfterTick(s.startupPeriod+took)+s.get)
	}
	return waited
}

// waitsAfterTick returns the longest time from the sync that shows the start until a sync that
// waits for a relist, for an event up to some time after the former.
func (r *readyTiming) waitsAfterTick(event time.Duration) time.Duration {
	u := *r
	u.startup = &startupRun{}
	return max(u.relisted(event, 0).moment, u.relisted(event, 1).moment, u.relisted(event, 2).moment-r.lists.Greatest)
}

// UnreadyAtKubeletRestart returns for how long a healthy container is not ready at most after a
// restart of the kubelet, which forgets the results of its probes with
// ChangeContainerStatusOnKubeletRestart. It is 0 for other kubelets. The container is not ready
// from the first look of the readiness probe until this probe has succeeded as often as it has to;
// with a startup probe, from the first look of this one on, and the worker of the readiness probe
// can sleep for its period longer (onNewContainer in pkg/kubelet/prober/worker.go at v1.34.0).
func (c *Container) UnreadyAtKubeletRestart() time.Duration {
	if !c.settings.Profile.ChangeContainerStatusOnKubeletRestart || c.readiness == nil {
		return 0
	}
	r := c.newReadyTiming(true)
	r.initialTriggers = true // the delay is over
	unready := r.untilLastAfterLook(max(r.took.Greatest, r.wait))
	if c.startup != nil {
		unready += r.period
	}
	return unready
}
