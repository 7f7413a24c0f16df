package bounds

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// startupRun is a run of the startup probe that succeeds, in some phase of the start against the ticks. Moments are from the begin of the ticks.
type startupRun struct {
	starts  fakeruntime.Draw // the moments of the start
	shown   fakeruntime.Draw // those of the sync that shows the start
	seconds fakeruntime.Draw // those from which initialDelaySeconds counts: whole seconds of the wall clock
	// The ticks at which the startup probe and the readiness probe see the start. Each leads to a sync. A sync can let the readiness probe see it before.
	look, otherLook time.Duration
	tick            fakeruntime.Draw // the tick of the run
	took            fakeruntime.Draw // how long the run takes
	step            time.Duration    // the longest time from the run that fails before to this one; 0 if there is none
}

// success returns the moments of the success.
func (u *startupRun) success() fakeruntime.Draw {
	return fakeruntime.Draw{Min: u.tick.Min + u.took.Min, Max: u.tick.Max + u.took.Max}
}

// afterStartup returns limits like those of readyLimits, but from the moment at which the program is up until the first run and the last run of
// the readiness probe that it needs begin, for a container with a startup probe. They are the limits over all phases of the start against the ticks.
func (s *Subject) afterStartup(n Nodes, r readying, atOnce bool) (least, greatest time.Duration) {
	least, greatest = Never, 0
	for _, run := range s.startupRuns(n, &r) {
		if atOnce {
			lo, hi := r.after(run).atOnceAfterStartup()
			least, greatest = min(least, lo), max(greatest, hi)
			continue
		}
		for _, later := range s.laterRuns(n, &r, run) {
			lo, hi := r.after(later).laterAfterStartup()
			least, greatest = min(least, lo), max(greatest, hi)
		}
	}
	return least, greatest
}

// laterAfterConnection is afterStartup for a program that comes up later, if a run of the startup probe can succeed at any time, because it connects
// more than once. The readiness probe then runs at its next tick after a sync at the latest, once its initialDelaySeconds is over.
func (s *Subject) laterAfterConnection(n Nodes, r *readying) (least, greatest time.Duration) {
	success := s.step(n, trace.Startup) + r.startup.took.Max
	return r.startup.took.Min, success + max(r.wait, r.seconds.Max) + r.successes*r.step
}

// after returns the times for a run of the startup probe.
func (r readying) after(run startupRun) *readying {
	r.startup = &run
	r.resyncs = r.mutable || r.resyncsBy(run.success().Max+r.wait+r.successes*r.step)
	return &r
}

// startupRuns returns the first runs of the startup probe. The workers of both probes begin to tick at the same time, so the phase of the start
// against the ticks decides which ticks see it first.
func (s *Subject) startupRuns(n Nodes, r *readying) []startupRun {
	period, other := s.period(trace.Startup), r.period
	begins, seconds := s.begins(n, trace.Startup), s.delays(trace.Startup)
	if s.init() != "" && s.Probe(trace.Readiness) != nil {
		begins.Max = begins.Min + period*(other/divisor(period, other))
	}
	var list []startupRun
	last := begins.Max + r.shown.Max
	for seen, after := begins.Min+r.shown.Min, begins.Min+r.shown.Min-1; ; {
		look, otherLook := nextMultiple(after, period), nextMultiple(after, other)
		until := min(look, otherLook, last)
		starts := fakeruntime.Draw{Min: max(begins.Min, seen-r.shown.Max), Max: min(begins.Max, until-r.shown.Min)}
		for tick := look; tick < max(look, nextMultiple(starts.Max+seconds.Max-1, period))+period; tick += period {
			at := fakeruntime.Draw{Min: starts.Min, Max: min(starts.Max, tick-seconds.Min)} // the starts for which the first run is at the tick
			whole := fakeruntime.Draw{Min: at.Min - time.Second, Max: at.Max}
			if tick > look {
				at.Min = max(at.Min, tick-period-seconds.Max)
				whole.Min = max(at.Min-time.Second, tick-period-seconds.Max)
			}
			if at.Min > at.Max {
				continue
			}
			if seconds.Max > 0 {
				whole.Max = min(whole.Max, tick-seconds.Max)
			}
			list = append(list, startupRun{
				starts: at, shown: fakeruntime.Draw{Min: max(seen, at.Min+r.shown.Min), Max: min(until, at.Max+r.shown.Max)}, seconds: whole,
				look: look, otherLook: otherLook, tick: fakeruntime.Exactly(tick), took: n.draw(answerDelay(s.Probe(trace.Startup))),
			})
		}
		if until == last {
			return list
		}
		seen, after = until, until
	}
}

// nextMultiple returns the least multiple of a period that is greater than a time.
func nextMultiple(after, period time.Duration) time.Duration {
	return after - modulo(after, period) + period
}

// laterRuns returns the runs of the startup probe at which a program that comes up later succeeds: the first one, or one after some failures.
// Once all syncs that follow the start are over, the runs are alike.
func (s *Subject) laterRuns(n Nodes, r *readying, first startupRun) []startupRun {
	list := []startupRun{first}
	period, step, failures := s.period(trace.Startup), s.step(n, trace.Startup), s.failures(trace.Startup)
	for failed := time.Duration(1); failed < failures; failed++ {
		run := first
		run.step = step
		run.tick.Min, run.tick.Max = first.tick.Min+failed*period, first.tick.Max+failed*step
		after := r.after(run)
		if after.syncsAfterSuccess() == 2*after.resync() && run.tick.Min-step > after.delayed().Max {
			run.tick.Max = first.tick.Max + (failures-1)*step
			return append(list, run)
		}
		list = append(list, run)
	}
	return list
}

// delayed returns the moments at which initialDelaySeconds of the readiness probe ends, or of the start if there is none.
func (r *readying) delayed() fakeruntime.Draw {
	u := r.startup
	if r.seconds.Max == 0 {
		return u.starts
	}
	return fakeruntime.Draw{Min: u.seconds.Min + r.seconds.Max, Max: u.seconds.Max + r.seconds.Max}
}

// resyncsBy reports whether the kubelet can sync the pod without an event before the success, or after it up to a moment. It does so a minute after
// another sync, and each look before the success leads to one.
func (r *readying) resyncsBy(moment time.Duration) bool {
	u := r.startup
	last := u.shown.Min
	for _, look := range []time.Duration{u.look, u.otherLook} {
		if look <= u.success().Min {
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
	return latest{moment, moment - u.starts.Min}
}

// relisted returns the latest sync that waits for a relist, since the relist before ends up to some lists after a moment: none if another sync has
// waited for it until this moment, and one if another sync has come when it begins. Another one is that of the housekeeping, before that sync.
//
// Without PLEGOnDemandRelist, the sync that shows the start ends with a relist, and each later one begins a second after the end of the one before.
func (r *readying) relisted(moment, lists time.Duration) latest {
	u := r.startup
	sync := u.latest(moment + lists*r.lists.Max + r.relist())
	if r.onDemand || r.mutable {
		return sync
	}
	relists := r.relist() // from the one that shows the start until the sync
	for n := time.Duration(1); ; n++ {
		left, more := moment-u.shown.Min-n*time.Second, n-lists
		each := r.lists.Max
		switch {
		case left < more*r.lists.Min:
			return sync.min(latest{u.shown.Max + relists, r.shown.Max + relists})
		case more > 0:
			each = min(each, left/more)
		}
		relists = max(relists, (n+1)*(time.Second+each))
	}
}

// relist is the longest time from the end of a relist to that of the next one.
func (r *readying) relist() time.Duration { return time.Second + r.lists.Max }

// syncs are the latest syncs up to some event.
type syncs struct {
	waited latest        // the latest one that waits for a relist
	atOnce time.Duration // the event that leads to the latest one that comes at once; 0 if there is none
}

// then returns the latest syncs if another event follows. Its sync waits for a relist if another one has come just before.
func (c syncs) then(r *readying, event time.Duration) syncs {
	waited := c.waited.plus(r.relist())
	if c.atOnce > 0 {
		waited = waited.max(r.relisted(c.atOnce, 2))
	}
	return syncs{waited, event}
}

// before returns the latest syncs that events before the success lead to: the relist that shows the start, the looks, and a minute without a sync.
func (r *readying) before() syncs {
	u := r.startup
	c := syncs{waited: latest{u.shown.Max, r.shown.Max}.plus(r.relist())}
	for _, look := range []time.Duration{min(u.look, u.otherLook), max(u.look, u.otherLook)} {
		if look <= u.tick.Min+u.took.Max+r.lists.Max { // before the sync loop takes the success
			c = c.then(r, look)
		}
	}
	if done := u.success().Max; r.mutable || r.resyncsBy(done+r.wait) {
		c = c.then(r, done)
	}
	return c
}

// firstTriggered returns the latest sync after the success of the startup probe that lets the readiness probe run, or its next tick, without the time of
// the lists of the housekeeping. It includes the time for which the status manager is still at work when the readiness probe succeeds: it writes the
// success of the startup probe, or it reads the pod for the status of the sync and has nothing to write (syncPod in
// pkg/kubelet/status/status_manager.go at v1.37.0).
func (r *readying) firstTriggered() latest {
	u := r.startup
	done := u.success().Max
	before := r.before()
	waits := before.waited.plus(r.relist()).min(r.relisted(done, 0)) // the sync before comes before the success
	if before.atOnce > 0 {
		atOnce := min(before.atOnce, done)
		waits = waits.max(r.relisted(atOnce, 1)).max(r.relisted(atOnce, 2).plus(-r.lists.Max))
	}
	if r.successes > 1 || r.mutable { // the sync loop can list twice before it takes the last success
		waits = waits.plus(r.lists.Max)
	}
	behind := time.Duration(0)
	if waits.moment < done+r.write.Max+r.get {
		behind = r.get
	}
	tick := nextMultiple(done+r.lists.Max, r.period)
	if r.mutable || u.tick.Min < u.tick.Max {
		tick = done + r.lists.Max + r.period
	}
	return waits.plus(behind).max(u.latest(done + r.behind())).min(u.latest(tick + r.behind()))
}

// behind is the longest time for which the status manager is still at work if the sync for the success of the startup probe comes at once.
func (r *readying) behind() time.Duration {
	behind := max(0, r.write.Max-r.took.Max)
	if r.took.Max > r.write.Min {
		behind = max(behind, min(r.get, r.write.Max+r.get-r.took.Max))
	}
	return behind
}

// lastAfterSuccess returns the latest of the syncs that follow the success: that for the success, that for the initial result of the readiness probe, if
// this probe has its first look later, and those for events before.
func (r *readying) lastAfterSuccess() latest {
	u := r.startup
	done := u.success()
	c := r.before().then(r, done.Max)
	if r.mutable || u.otherLook > done.Min {
		c = c.then(r, done.Max)
	}
	return c.waited.max(u.latest(c.atOnce + r.lists.Max))
}

// atOnceAfterStartup is atOnce for a container with a startup probe. The sync after its success triggers the readiness probe. More syncs can
// follow. The first run is at a tick if initialDelaySeconds of the readiness probe ends after these syncs.
func (r *readying) atOnceAfterStartup() (least, greatest time.Duration) {
	u := r.startup
	done, delayed := u.success(), r.delayed()
	last := r.lastAfterSuccess()
	resets := fakeruntime.Draw{Min: max(done.Min, u.shown.Min+r.next), Max: last.moment} // moments of the syncs, which begin the period of the readiness probe
	sinceStart := fakeruntime.Draw{Min: max(done.Min-u.starts.Max, r.shown.Min+r.next), Max: last.sinceStart}

	earliest := max(sinceStart.Min, r.seconds.Min, max(resets.Min, delayed.Min)-u.starts.Max)
	if r.seconds.Min <= sinceStart.Max && delayed.Min <= resets.Max { // with one of these syncs
		least = earliest + r.untilLastAmongSyncs()
		if r.seconds.Min <= done.Min-u.starts.Max {
			least = earliest + r.untilLastAfterSuccess()
		}
	} else {
		begins, beginsSinceStart := resets, sinceStart // the last of these syncs begins the period
		begins.Min = max(begins.Min, u.tick.Min+r.syncsUntil())
		beginsSinceStart.Min = max(beginsSinceStart.Min, begins.Min-u.starts.Max)
		if r.looksBefore() && r.triggersLook() && !r.mutable { // two relists after the one that shows the start
			beginsSinceStart.Min = max(beginsSinceStart.Min, r.shown.Min+r.next+time.Second)
		}
		first := max(firstFrom(r.seconds.Min, r.period, beginsSinceStart), firstFrom(delayed.Min, r.period, begins)-u.starts.Max)
		if resets.Min+resync <= delayed.Max { // or a sync without an event comes before
			first = earliest
		}
		least = first + r.triggered(r.resync(), 0)
	}

	greatest = r.firstTriggered().sinceStart
	left := delayed.Max - u.tick.Min // from the run of the startup probe
	switch {
	case r.seconds.Max == 0 || left <= u.took.Min:
	case left <= r.syncsUntil():
		greatest = max(greatest, last.sinceStart)
	default:
		if resets.Min+resync <= delayed.Max { // a sync without an event can begin the period
			resets.Max, sinceStart.Max = max(resets.Max, delayed.Max), max(sinceStart.Max, r.seconds.Max)
		}
		greatest = max(greatest, min(
			lastFrom(min(r.seconds.Max, delayed.Max-u.starts.Min), r.period, sinceStart),
			lastFrom(delayed.Max, r.period, resets)-u.starts.Min))
	}
	return least, greatest + r.untilLast()
}

// syncsUntil returns the least time from the run of the startup probe that succeeds until the last of the syncs that follow it for sure: that for its
// success, and that for the initial result of the readiness probe, if this probe has its first look later. That look comes at a tick, or with the first
// of these syncs. Then the second one waits for a relist that begins after the first one. If the first look of the startup probe has led to a sync
// during the run, there are two such relists, a second apart.
func (r *readying) syncsUntil() time.Duration {
	u := r.startup
	if u.otherLook <= u.success().Min {
		return u.took.Min
	}
	last := u.took.Min + r.lists.Min
	if r.looksBefore() {
		last = max(last, time.Second+r.lists.Min)
	}
	if !r.triggersLook() {
		last = min(last, u.otherLook-u.tick.Min)
	}
	return last
}

// looksBefore reports whether the run is the first look of the startup probe, and the sync loop takes its initial result before its success, even if the
// sync loop lists what runs for its housekeeping meanwhile.
func (r *readying) looksBefore() bool {
	return r.startup.look == r.startup.tick.Min && r.startup.took.Min > r.lists.Max
}

// triggersLook reports whether the readiness probe sees the start only after the success of the startup probe, because of a sync.
func (r *readying) triggersLook() bool {
	return r.startup.otherLook > r.startup.success().Max+r.wait
}

// untilLast is the longest time from the first run of the readiness probe to the last one that it needs. If the first run is the first look too, its
// initial result leads to a sync that triggers the next run.
func (r *readying) untilLast() time.Duration {
	if r.triggersLook() {
		return r.untilLastAfterLook(max(r.took.Max, r.wait))
	}
	return (r.successes - 1) * r.step
}

// laterAfterStartup returns the same times as atOnceAfterStartup, from a moment that is not before the first run of the startup probe.
func (r *readying) laterAfterStartup() (least, greatest time.Duration) {
	u := r.startup
	done, delayed := u.success(), r.delayed()
	last := r.lastAfterSuccess()
	within := last.moment - done.Min - (u.tick.Max - u.tick.Min) // the syncs after the success come
	resyncs := done.Min+resync <= delayed.Max

	least = u.took.Min + r.untilLastAfterSuccess()
	switch wait := max(r.seconds.Min-(done.Max-u.starts.Min), delayed.Min-done.Max); {
	case r.seconds.Max == 0:
	case (r.seconds.Min > last.sinceStart || wait > within) && !resyncs: // the first run is at a tick after these syncs
		begins := fakeruntime.Draw{Min: max(0, r.syncsUntil()-u.took.Max), Max: within}
		first := max(firstFrom(wait, r.period, begins), begins.Min+r.period)
		least = max(least, u.took.Min+first+r.triggered(r.resync(), 0))
	case wait > 0:
		least = max(least, u.took.Min+wait+r.untilLastAmongSyncs())
	}

	greatest = u.step + r.firstTriggered().moment - u.tick.Max
	if r.seconds.Max > 0 {
		left, resets := u.step+delayed.Max-u.tick.Min, fakeruntime.Draw{Min: u.step + u.took.Min, Max: u.step + u.took.Max + within}
		if resyncs {
			resets.Max = max(resets.Max, left)
		}
		switch {
		case left <= resets.Min:
		case u.step == 0 && left <= r.syncsUntil():
			greatest = max(greatest, u.took.Max+within)
		default:
			greatest = max(greatest, lastFrom(left, r.period, resets))
		}
	}
	return least, greatest + r.untilLast()
}
