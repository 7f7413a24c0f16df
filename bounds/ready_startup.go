package bounds

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// startupRun has the times of the startup probe, in some phase of the start against the ticks.
type startupRun struct {
	tick     time.Duration    // from the begin of the ticks until the first run
	run      fakeruntime.Draw // from the start until the first run
	took     fakeruntime.Draw // of a run
	step     time.Duration    // the longest time from the run that fails before the success to that of the success; 0 if there is none
	succeeds fakeruntime.Draw // from the start until the success
	// These are the least times until the success: from the sync that shows the start, from the tick at which the startup probe sees the start, and
	// from the tick at which the readiness probe does so. Each of the two ticks leads to a sync. The last time is negative if this tick is later.
	sinceShown, sinceLook, sinceOtherLook time.Duration
	// secondsLeft is the greatest time until the end of initialDelaySeconds of the readiness probe, from the run that fails before the success, or from
	// that of the success.
	secondsLeft  time.Duration
	triggersLook bool          // the readiness probe sees the start only after the success
	nextTick     time.Duration // least time from the success to the next tick of the readiness probe
}

// afterStartup returns limits like those of readyLimits, but from the moment at which the program is up until the first run and the last run of
// the readiness probe that it needs begin, for a container with a startup probe. They are the limits over all phases of the start against the ticks.
func (s *Subject) afterStartup(n Nodes, r readying, atOnce bool) (least, greatest time.Duration) {
	least, greatest = Never, 0
	for _, run := range s.startupRuns(n, &r) {
		r.startup = &run
		if atOnce {
			lo, hi := r.atOnceAfterStartup()
			least, greatest = min(least, lo), max(greatest, hi)
			continue
		}
		for _, later := range s.laterRuns(n, &r) {
			r.startup = &later
			lo, hi := r.laterAfterStartup()
			least, greatest = min(least, lo), max(greatest, hi)
		}
	}
	return least, greatest
}

// startupRuns returns the first runs of the startup probe. The workers of both probes begin to tick at the same time, so the phase of the start
// against the ticks decides which ticks see it first.
func (s *Subject) startupRuns(n Nodes, r *readying) []startupRun {
	period, other := s.period(trace.Startup), s.period(trace.Readiness)
	begins, seconds := s.begins(n, trace.Startup), s.delays(trace.Startup)
	if s.init() != "" {
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
			if tick > look {
				at.Min = max(at.Min, tick-period-seconds.Max)
			}
			if at.Min > at.Max {
				continue
			}
			run := startupRun{
				tick: tick, run: fakeruntime.Draw{Min: tick - at.Max, Max: tick - at.Min}, took: n.draw(answerDelay(s.Probe(trace.Startup))),
			}
			run.succeeds = fakeruntime.Draw{Min: run.run.Min + run.took.Min, Max: run.run.Max + run.took.Max}
			success := tick + run.took.Min
			run.sinceShown, run.sinceLook, run.sinceOtherLook = success-until, success-look, success-otherLook
			run.nextTick = nextMultiple(success, other) - tick - run.took.Max
			run.triggersLook = otherLook > tick+run.took.Max+r.wait
			run.secondsLeft = r.seconds.Max - run.run.Min
			if seconds.Max > 0 && r.seconds.Max > 0 { // both count from the same second, and the run comes after its own
				run.secondsLeft = min(run.secondsLeft, r.seconds.Max-seconds.Max)
			}
			list = append(list, run)
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
func (s *Subject) laterRuns(n Nodes, r *readying) []startupRun {
	first := *r.startup
	list := []startupRun{first}
	period, step, failures := s.period(trace.Startup), s.step(n, trace.Startup), s.failures(trace.Startup)
	for failed := time.Duration(1); failed < failures; failed++ {
		run := first
		run.step, run.nextTick = step, 0
		if step == period {
			run.nextTick = nextMultiple(first.tick+failed*period+first.took.Min, r.period) - first.tick - failed*period - first.took.Max
		}
		run.secondsLeft += step - failed*period
		run.succeeds = fakeruntime.Draw{Min: first.succeeds.Min + failed*period, Max: first.succeeds.Max + failed*step}
		run.sinceShown, run.sinceLook, run.sinceOtherLook = first.sinceShown+failed*period, first.sinceLook+failed*period, first.sinceOtherLook+failed*period
		run.triggersLook = run.sinceOtherLook+first.took.Max-first.took.Min+failed*(step-period) < -r.wait
		r.startup = &run
		if syncs, _ := r.syncsAfterSuccess(); syncs == r.resync() && run.succeeds.Min-step > r.seconds.Max {
			run.succeeds.Max, run.nextTick = first.succeeds.Max+(failures-1)*step, 0
			return append(list, run)
		}
		list = append(list, run)
	}
	return list
}

// atOnceAfterStartup is atOnce for a container with a startup probe. The sync after its success triggers the readiness probe. Up to two more
// syncs can come after the success: for the initial results of both probes, and for the event of the relist.
func (r *readying) atOnceAfterStartup() (least, greatest time.Duration) {
	u := r.startup
	done := u.succeeds
	syncs, within := r.syncsAfterSuccess()
	resets := fakeruntime.Draw{Min: max(done.Min, r.shown.Min+r.next), Max: done.Max + within}
	least = firstFrom(r.seconds.Min, r.period, resets) + (r.successes-1)*r.period
	if r.seconds.Min > resets.Max {
		syncs = r.resync()
	}
	earliest, triggered := max(resets.Min, r.seconds.Min), r.triggered(syncs, 0)
	if r.seconds.Min <= done.Min {
		triggered = r.untilLastAfterSuccess()
	}
	least = min(least, earliest+triggered)
	greatest = done.Max + r.untilTriggered()
	switch begins := u.run.Max + u.secondsLeft; {
	case u.secondsLeft <= u.took.Min:
	case u.secondsLeft <= r.syncsUntil():
		greatest = max(greatest, done.Max+2*r.wait)
	default:
		greatest = max(greatest, lastFrom(min(r.seconds.Max, begins), r.period, resets))
	}
	return least, greatest + r.untilLast()
}

// syncsUntil returns the least time from the run of the startup probe that succeeds until the last of the syncs that follow it for sure: that for its
// success, and that for the initial result of the readiness probe, if this probe has its first look later. That look comes at a tick, or with the first
// of these syncs. Then the second one waits for a relist that begins after the first one. If the startup probe has its first look with the run,
// it has led to a sync too, so there are two such relists, a second apart.
func (r *readying) syncsUntil() time.Duration {
	u := r.startup
	if u.sinceOtherLook >= 0 || r.containerScoped {
		return u.took.Min
	}
	last := u.took.Min + r.lists.Min
	if u.sinceLook == u.took.Min {
		last = max(last, time.Second+r.lists.Min)
	}
	if !u.triggersLook {
		last = min(last, u.took.Min-u.sinceOtherLook)
	}
	return last
}

// untilLast is the longest time from the first run of the readiness probe to the last one that it needs. If the first run is the first look too, its
// initial result leads to a sync that triggers the next run.
func (r *readying) untilLast() time.Duration {
	later := r.successes - 1
	if later > 0 && r.initialTriggers && (r.startup == nil || r.startup.triggersLook) {
		return (later-1)*r.step + min(r.step, max(r.took.Max, r.wait))
	}
	return later * r.step
}

// untilTriggered is the longest time from the success of the startup probe until the first run of the readiness probe. The sync that triggers it
// waits for a relist if another sync has come just before. Otherwise, it comes at once, and the status with the success of the startup probe can
// still be on its way when the readiness probe succeeds. If the probe succeeds after that, the status of the sync can be: the status manager
// reads the pod for it and has nothing to write (syncPod in pkg/kubelet/status/status_manager.go at v1.37.0).
func (r *readying) untilTriggered() time.Duration {
	if syncs, _ := r.syncsAfterSuccess(); syncs == 0 {
		behind := max(0, r.write.Max-r.took.Max)
		if r.took.Max > r.write.Min {
			behind = max(behind, min(r.get, r.write.Max+r.get-r.took.Max))
		}
		return r.lists.Max + behind
	}
	return min(r.wait, r.period)
}

// laterAfterStartup returns the same times as atOnceAfterStartup, from a moment that is not before the first run of the startup probe.
func (r *readying) laterAfterStartup() (least, greatest time.Duration) {
	u := r.startup
	syncs, within := r.syncsAfterSuccess()
	least = u.took.Min + r.untilLastAfterSuccess()
	switch wait := r.seconds.Min - u.succeeds.Max; {
	case wait > within: // the first run is at a tick after these syncs
		first := firstFrom(wait, r.period, fakeruntime.Draw{Max: within})
		least = max(least, u.took.Min+first+r.triggered(r.resync(), 0))
	case wait > 0:
		least = max(least, u.took.Min+wait+r.triggered(syncs, 0))
	}
	greatest = u.took.Max + u.step + r.untilTriggered()
	done := fakeruntime.Draw{Min: u.step + u.took.Min, Max: u.step + u.took.Max + within}
	switch {
	case u.secondsLeft <= done.Min:
	case u.step == 0 && u.secondsLeft <= r.syncsUntil():
		greatest = max(greatest, u.took.Max+2*r.wait)
	default:
		greatest = max(greatest, lastFrom(u.secondsLeft, r.period, done))
	}
	return least, greatest + r.untilLast()
}
