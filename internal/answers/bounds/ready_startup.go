package bounds

import "time"

// startupRun is a run of the startup probe that succeeds, in some phase of the start against the
// ticks. Moments are from the begin of the ticks.
type startupRun struct {
	starts  Range // the moments of the start
	shown   Range // those of the sync that shows the start
	seconds Range // those from which initialDelaySeconds counts: whole seconds of the wall clock
	// The ticks at which the startup probe and the readiness probe see the start. Each leads to a
	// sync. A sync can let the readiness probe see it before.
	look, otherLook time.Duration
	tick            Range         // the tick of the run
	took            Range         // how long the run takes
	step            time.Duration // the longest time from the run that fails before to this one; 0 if there is none
}

// success returns the moments of the success.
func (u *startupRun) success() Range { return u.tick.plus(u.took) }

// afterStartup returns the time from the moment at which the program is up until the last run of
// the readiness probe that it needs begins, for a container with a startup probe, over all phases
// of the start against the ticks.
func (c *Container) afterStartup(r readyTiming, atOnce bool) Range {
	until := Range{Least: Never}
	for _, run := range c.startupRuns(&r) {
		if atOnce {
			until = until.Or(r.after(run).atOnceAfterStartup())
			continue
		}
		for _, later := range c.laterRuns(&r, run) {
			until = until.Or(r.after(later).laterAfterStartup())
		}
	}
	return until
}

// manyPhases reports whether the start has so many phases against the ticks of both probes that the
// bounds take any phase instead.
func (c *Container) manyPhases() bool {
	if !c.afterInit() || c.startup == nil || c.readiness == nil {
		return false
	}
	period, other := c.startup.period, c.readiness.period
	return other/divisor(period, other)*max(1, c.readiness.delay/period) > 2000
}

// laterAfterConnection is afterStartup for a program that comes up later, if a run of the startup
// probe can succeed at any time, because it connects more than once. The readiness probe then runs
// at its next tick after a sync at the latest, once its initialDelaySeconds is over.
func (c *Container) laterAfterConnection(r *readyTiming) Range {
	success := c.startup.step().Greatest + r.startup.took.Greatest
	return Range{r.startup.took.Least, success + max(r.wait, r.seconds.Greatest) + r.successes*r.step}
}

// after returns the times for a run of the startup probe.
func (r readyTiming) after(run startupRun) *readyTiming {
	r.startup = &run
	r.resyncs = r.resyncsBy(run.success().Greatest + r.wait + r.successes*r.step)
	return &r
}

// startupRuns returns the first runs of the startup probe. The workers of both probes begin to tick
// at the same time, so the phase of the start against the ticks decides which ticks see it first.
func (c *Container) startupRuns(r *readyTiming) []startupRun {
	period, other := c.startup.period, r.period
	begins, seconds := c.begins(c.startup), c.startup.delayed()
	switch {
	case r.sleep: // the worker begins at any time
		begins.Greatest = begins.Least + period
	case c.afterInit() && c.readiness != nil:
		begins.Greatest = begins.Least + period*(other/divisor(period, other))
	}
	var list []startupRun
	last := begins.Greatest + r.shown.Greatest
	for seen, after := begins.Least+r.shown.Least, begins.Least+r.shown.Least-1; ; {
		look, otherLook := nextMultiple(after, period), nextMultiple(after, other)
		until := min(look, otherLook, last)
		starts := Range{max(begins.Least, seen-r.shown.Greatest), min(begins.Greatest, until-r.shown.Least)}
		for tick := look; tick < max(look, nextMultiple(starts.Greatest+seconds.Greatest-1, period))+
			period; tick += period {
			// the starts for which the first run is at the tick
			at := Range{starts.Least, min(starts.Greatest, tick-seconds.Least)}
			whole := Range{at.Least - time.Second, at.Greatest}
			if tick > look {
				at.Least = max(at.Least, tick-period-seconds.Greatest)
				whole.Least = max(at.Least-time.Second, tick-period-seconds.Greatest)
			}
			if at.Least > at.Greatest {
				continue
			}
			if seconds.Greatest > 0 {
				whole.Greatest = min(whole.Greatest, tick-seconds.Greatest)
			}
			list = append(list, startupRun{
				starts: at, shown: Range{max(seen, at.Least+r.shown.Least), min(until, at.Greatest+r.shown.Greatest)},
				seconds: whole,
				look:    look, otherLook: otherLook, tick: exactly(tick), took: c.startup.answer,
			})
		}
		if until == last {
			return list
		}
		seen, after = until, until
	}
}

// laterRuns returns the runs of the startup probe at which a program that comes up later succeeds:
// the first one, or one after some failures. Once all syncs that follow the start are over, the
// runs are alike.
func (c *Container) laterRuns(r *readyTiming, first startupRun) []startupRun {
	list := []startupRun{first}
	period, step, failures := c.startup.period, c.startup.step().Greatest, c.startup.failures
	for failed := time.Duration(1); failed < failures; failed++ {
		run := first
		run.step = step
		run.tick.Least, run.tick.Greatest = first.tick.Least+failed*period, first.tick.Greatest+failed*step
		after := r.after(run)
		if after.syncsAfterSuccess() == 2*after.resync() && run.tick.Least-step > after.delayed().Greatest {
			run.tick.Greatest = first.tick.Greatest + (failures-1)*step
			return append(list, run)
		}
		list = append(list, run)
	}
	return list
}

// delayed returns the moments at which initialDelaySeconds of the readiness probe ends, or of the
// start if there is none.
func (r *readyTiming) delayed() Range {
	u := r.startup
	if r.seconds.Greatest == 0 {
		return u.starts
	}
	return Range{u.seconds.Least + r.seconds.Greatest, u.seconds.Greatest + r.seconds.Greatest}
}

// resyncsBy reports whether the kubelet can sync the pod without an event before the success, or
// after it up to a moment. It does so a minute after another sync, and each look before the success
// leads to one.
func (r *readyTiming) resyncsBy(moment time.Duration) bool {
	u := r.startup
	last := u.shown.Least
	for _, look := range []time.Duration{u.look, u.otherLook} {
		if look <= u.success().Least {
			last = max(last, look)
		}
	}
	return last+resync <= moment
}

// latest is the greatest moment of an event, and its greatest time from the start.
type latest struct{ moment, sinceStart time.Duration }

func (a latest) plus(d time.Duration) latest { return latest{a.moment + d, a.sinceStart + d} }
func (a latest) min(b latest) latest {
	return latest{min(a.moment, b.moment), min(a.sinceStart, b.sinceStart)}
}
func (a latest) max(b latest) latest {
	return latest{max(a.moment, b.moment), max(a.sinceStart, b.sinceStart)}
}

func (u *startupRun) latest(moment time.Duration) latest {
	return latest{moment, moment - u.starts.Least}
}

// relisted returns the latest sync that waits for a relist, since the relist before ends up to some
// lists after a moment: none if another sync has waited for it until this moment, and one if
// another sync has come when it begins. Another one is that of the housekeeping, before that sync.
//
// Without PLEGOnDemandRelist, the sync that shows the start ends with a relist, and each later one
// begins a second after the end of the one before.
func (r *readyTiming) relisted(moment, lists time.Duration) latest {
	u := r.startup
	sync := u.latest(moment + lists*r.lists.Greatest + r.relist())
	if r.onDemand {
		return sync
	}
	relists := r.relist() // from the one that shows the start until the sync
	// The more relists there are, the shorter their lists are. The time is the longest where the
	// lists just need not be shorter.
	within := moment - u.shown.Least
	most := (within + lists*r.lists.Greatest) / r.relist()
	for n := max(1, most-2); n <= most+2; n++ {
		left, more := within-n*time.Second, n-lists
		each := r.lists.Greatest
		if left < more*r.lists.Least {
			break
		}
		if more > 0 {
			each = min(each, left/more)
		}
		relists = max(relists, (n+1)*(time.Second+each))
	}
	return sync.min(latest{u.shown.Greatest + relists, r.shown.Greatest + relists})
}

// relist is the longest time from the end of a relist to that of the next one.
func (r *readyTiming) relist() time.Duration { return time.Second + r.lists.Greatest }

// syncs are the latest syncs up to some event.
type syncs struct {
	waited latest        // the latest one that waits for a relist
	atOnce time.Duration // the event that leads to the latest one that comes at once; 0 if there is none
}

// then returns the latest syncs if another event follows. Its sync waits for a relist if another
// one has come just before.
func (c syncs) then(r *readyTiming, event time.Duration) syncs {
	waited := c.waited.plus(r.relist())
	if c.atOnce > 0 {
		waited = waited.max(r.relisted(c.atOnce, 2))
	}
	return syncs{waited, event}
}

// before returns the latest syncs that events before the success lead to: the relist that shows the
// start, the looks, and a minute without a sync.
func (r *readyTiming) before() syncs {
	u := r.startup
	c := syncs{waited: latest{u.shown.Greatest, r.shown.Greatest}.plus(r.relist())}
	for _, look := range []time.Duration{min(u.look, u.otherLook), max(u.look, u.otherLook)} {
		if look <= u.tick.Least+u.took.Greatest+r.lists.Greatest { // before the sync loop takes the success
			c = c.then(r, look)
		}
	}
	if done := u.success().Greatest; r.resyncsBy(done + r.wait) {
		c = c.then(r, done)
	}
	return c
}

// firstTriggered returns the latest sync after the success of the startup probe that lets the
// readiness probe run, or its next tick, without the time of the lists of the housekeeping. It
// includes the time for which the status manager is still at work when the readiness probe
// succeeds: it writes the success of the startup probe, or it reads the pod for the status of the
// sync and has nothing to write (syncPod in pkg/kubelet/status/status_manager.go at v1.37.0).
func (r *readyTiming) firstTriggered() latest {
	u := r.startup
	done := u.success().Greatest
	before := r.before()
	waits := before.waited.plus(r.relist()).min(r.relisted(done, 0)) // the sync before comes before the success
	if before.atOnce > 0 {
		atOnce := min(before.atOnce, done)
		waits = waits.max(r.relisted(atOnce, 1)).max(r.relisted(atOnce, 2).plus(-r.lists.Greatest))
	}
	if r.disturbed {
		waits = waits.max(u.latest(done + r.wait))
	}
	if r.successes > 1 { // the sync loop can list twice before it takes the last success
		waits = waits.plus(r.lists.Greatest)
	}
	behind := time.Duration(0)
	if waits.moment < done+r.write.Greatest+r.get {
		behind = r.get
	}
	tick := nextMultiple(done+r.lists.Greatest, r.period)
	if u.tick.Least < u.tick.Greatest {
		tick = done + r.lists.Greatest + r.period
	}
	return waits.plus(behind).max(u.latest(done + r.behind())).min(u.latest(tick + r.behind()))
}

// behind is the longest time for which the status manager is still at work if the sync for the
// success of the startup probe comes at once.
func (r *readyTiming) behind() time.Duration {
	behind := max(0, r.write.Greatest-r.took.Greatest)
	if r.took.Greatest > r.write.Least {
		behind = max(behind, min(r.get, r.write.Greatest+r.get-r.took.Greatest))
	}
	return behind
}

// lastAfterSuccess returns the latest of the syncs that follow the success: that for the success,
// that for the initial result of the readiness probe, if this probe has its first look later, and
// those for events before.
func (r *readyTiming) lastAfterSuccess() latest {
	u := r.startup
	done := u.success()
	c := r.before().then(r, done.Greatest)
	if u.otherLook > done.Least {
		c = c.then(r, done.Greatest)
	}
	return c.waited.max(u.latest(c.atOnce + r.lists.Greatest))
}

// atOnceAfterStartup is atOnce for a container with a startup probe. The sync after its success
// triggers the readiness probe. More syncs can follow. The first run is at a tick if
// initialDelaySeconds of the readiness probe ends after these syncs.
func (r *readyTiming) atOnceAfterStartup() (until Range) {
	u := r.startup
	done, delayed := u.success(), r.delayed()
	last := r.lastAfterSuccess()
	// moments of the syncs, which begin the period of the readiness probe
	resets := Range{max(done.Least, u.shown.Least+r.next), last.moment}
	sinceStart := Range{max(done.Least-u.starts.Greatest, r.shown.Least+r.next), last.sinceStart}

	earliest := max(sinceStart.Least, r.seconds.Least, max(resets.Least, delayed.Least)-u.starts.Greatest)
	if r.seconds.Least <= sinceStart.Greatest && delayed.Least <= resets.Greatest { // with one of these syncs
		until.Least = earliest + r.untilLastAmongSyncs()
		if r.seconds.Least <= done.Least-u.starts.Greatest {
			until.Least = earliest + r.untilLastAfterSuccess()
		}
	} else {
		begins, beginsSinceStart := resets, sinceStart // the last of these syncs begins the period
		begins.Least = max(begins.Least, u.tick.Least+r.syncsUntil())
		beginsSinceStart.Least = max(beginsSinceStart.Least, begins.Least-u.starts.Greatest)
		if r.looksBefore() && r.triggersLook() { // two relists after the one that shows the start
			beginsSinceStart.Least = max(beginsSinceStart.Least, r.shown.Least+r.next+time.Second)
		}
		first := max(firstFrom(r.seconds.Least, r.period, beginsSinceStart),
			firstFrom(delayed.Least, r.period, begins)-u.starts.Greatest)
		if resets.Least+resync <= delayed.Greatest { // or a sync without an event comes before
			first = earliest
		}
		until.Least = first + r.triggered(r.resync(), 0)
	}

	until.Greatest = r.firstTriggered().sinceStart
	left := delayed.Greatest - u.tick.Least // from the run of the startup probe
	switch {
	case r.seconds.Greatest == 0 || left <= u.took.Least:
	case left <= r.syncsUntil():
		until.Greatest = max(until.Greatest, last.sinceStart)
	default:
		if resets.Least+resync <= delayed.Greatest { // a sync without an event can begin the period
			resets.Greatest, sinceStart.Greatest = max(resets.Greatest, delayed.Greatest),
				max(sinceStart.Greatest, r.seconds.Greatest)
		}
		until.Greatest = max(until.Greatest, min(
			lastFrom(min(r.seconds.Greatest, delayed.Greatest-u.starts.Least), r.period, sinceStart),
			lastFrom(delayed.Greatest, r.period, resets)-u.starts.Least))
	}
	until.Greatest += r.untilLast()
	return until
}

// syncsUntil returns the least time from the run of the startup probe that succeeds until the last
// of the syncs that follow it for sure: that for its success, and that for the initial result of
// the readiness probe, if this probe has its first look later. That look comes at a tick, or with
// the first of these syncs. Then the second one waits for a relist that begins after the first one.
// If the first look of the startup probe has led to a sync during the run, there are two such
// relists, a second apart.
func (r *readyTiming) syncsUntil() time.Duration {
	u := r.startup
	if u.otherLook <= u.success().Least {
		return u.took.Least
	}
	last := u.took.Least + r.lists.Least
	if r.looksBefore() {
		last = max(last, time.Second+r.lists.Least)
	}
	if !r.triggersLook() {
		last = min(last, u.otherLook-u.tick.Least)
	}
	return last
}

// looksBefore reports whether the run is the first look of the startup probe, and the sync loop
// takes its initial result before its success, even if the sync loop lists what runs for its
// housekeeping meanwhile.
func (r *readyTiming) looksBefore() bool {
	return r.startup.look == r.startup.tick.Least && r.startup.took.Least > r.lists.Greatest
}

// triggersLook reports whether the readiness probe sees the start only after the success of the
// startup probe, because of a sync.
func (r *readyTiming) triggersLook() bool {
	return r.startup.otherLook > r.startup.success().Greatest+r.wait
}

// untilLast is the longest time from the first run of the readiness probe to the last one that it
// needs. If the first run is the first look too, its initial result leads to a sync that triggers
// the next run.
func (r *readyTiming) untilLast() time.Duration {
	if r.triggersLook() {
		return r.untilLastAfterLook(max(r.took.Greatest, r.wait))
	}
	return (r.successes - 1) * r.step
}

// laterAfterStartup returns the same times as atOnceAfterStartup, from a moment that is not before
// the first run of the startup probe.
func (r *readyTiming) laterAfterStartup() (until Range) {
	u := r.startup
	done, delayed := u.success(), r.delayed()
	last := r.lastAfterSuccess()
	within := last.moment - done.Least - (u.tick.Greatest - u.tick.Least) // the syncs after the success come
	resyncs := done.Least+resync <= delayed.Greatest

	until.Least = u.took.Least + r.untilLastAfterSuccess()
	switch wait := max(r.seconds.Least-(done.Greatest-u.starts.Least), delayed.Least-done.Greatest); {
	case r.seconds.Greatest == 0:
	// the first run is at a tick after these syncs
	case (r.seconds.Least > last.sinceStart || wait > within) && !resyncs:
		begins := Range{max(0, r.syncsUntil()-u.took.Greatest), within}
		first := max(firstFrom(wait, r.period, begins), begins.Least+r.period)
		until.Least = max(until.Least, u.took.Least+first+r.triggered(r.resync(), 0))
	case wait > 0:
		until.Least = max(until.Least, u.took.Least+wait+r.untilLastAmongSyncs())
	}

	until.Greatest = u.step + r.firstTriggered().moment - u.tick.Greatest
	if r.seconds.Greatest > 0 {
		left, resets := u.step+delayed.Greatest-u.tick.Least,
			Range{u.step + u.took.Least, u.step + u.took.Greatest + within}
		if resyncs {
			resets.Greatest = max(resets.Greatest, left)
		}
		switch {
		case left <= resets.Least:
		case u.step == 0 && left <= r.syncsUntil():
			until.Greatest = max(until.Greatest, u.took.Greatest+within)
		default:
			until.Greatest = max(until.Greatest, lastFrom(left, r.period, resets))
		}
	}
	until.Greatest += r.untilLast()
	return until
}
