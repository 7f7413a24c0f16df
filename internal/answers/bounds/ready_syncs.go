package bounds

import "time"

// The readiness probe runs at its ticks, and after each sync of a container that has started and is
// not ready. So the last run that it needs comes the sooner, the more of its runs follow syncs. A
// sync that comes just after another one waits for a relist that begins after that one, and one
// relist begins a second after another:
//
//	sync            sync                          sync
//	  │    r.next     │           a second          │
//	  ├──────────────►├────────────────────────────►│
//	first run       later run                     later run
//
// A tick can come between two of these syncs, unless they are apart. The run at the tick then takes
// the place of one that follows a sync.

// apart reports whether no tick of the probe comes between two syncs of which the second waits for
// the first relist after the first.
func (r *readyTiming) apart() bool { return r.period > r.wait && r.took.Greatest <= r.wait }

// triggered returns the least time from the first run of the probe to the last one that it needs,
// if up to some of the later ones follow a sync. From a sync that leads to the first run, it takes
// some time to the last of these.
func (r *readyTiming) triggered(syncs, last time.Duration) time.Duration {
	later := r.successes - 1
	syncs = min(syncs, later)
	return (later-syncs)*r.period + max(syncs*r.took.Least, min(last, syncs*r.period))
}

// untilLastAfterStart returns the least time from the first run of the probe to the last one that
// it needs, for a container without a startup probe. The first run comes some time after the start.
// Two syncs follow the one that shows the start: for the event of the relist, and for the initial
// result of the probe.
//
//	the first run comes                    later runs that follow a sync              the last of them comes after
//	with the sync that shows the start     that of the next sync                      r.next
//	                                       or those of both syncs                     r.next and a second
//	up to a wait later                     that of the second one                     a second
//	after these syncs                      that of a sync without an event, if any    0
func (r *readyTiming) untilLastAfterStart(first time.Duration) time.Duration {
	switch {
	case !r.apart() && first <= r.shown.Greatest+2*r.wait:
		return r.untilLastAmongTicks(first)
	case first <= r.shown.Greatest:
		return min(r.triggered(1, r.next), r.triggered(2, r.next+time.Second))
	case first <= r.shown.Greatest+r.wait:
		return r.triggered(1, time.Second)
	}
	return r.triggered(r.resync(), 0)
}

// untilLastAmongTicks is untilLastAfterStart if ticks can come between the syncs.
//
//	the first run comes                             later runs    the last of them comes after
//	with the first sync that can show the start     1             r.next, or at a tick
//	                                                2 or more     two relists, or a relist and a tick: a second
//	later                                           2 or more     0
func (r *readyTiming) untilLastAmongTicks(first time.Duration) time.Duration {
	switch {
	case first > r.shown.Least:
		return r.triggered(2, 0)
	case r.successes > 2:
		return max(r.triggered(2, 0), time.Second)
	}
	return r.triggered(2, r.next)
}

// resync returns how many runs can follow a sync of the pod without an event.
func (r *readyTiming) resync() time.Duration {
	if r.resyncs {
		return 1
	}
	return 0
}

// syncsAfterSuccess returns how many syncs after the success of the startup probe can lead to runs,
// while the kubelet syncs the pod because of events. It is 0 if the only one is that for the
// success, and this one comes at once.
//
//	start shown ─┐
//	             ├─► first look of the startup probe ─┐
//	             └─► first look of the readiness probe ─┴─► success of the startup probe
//
// Each of these leads to a sync: for the event of the relist, for the initial results of both
// probes, and for the success. One for an event before the success can come after it, if it waits
// for a relist.
func (r *readyTiming) syncsAfterSuccess() time.Duration {
	u := r.startup
	done, before := u.success(), r.before()
	waits := before.then(r, done.Greatest).waited.moment > done.Least
	syncs := time.Duration(0)
	for _, comes := range []bool{before.waited.moment > done.Least, u.otherLook > done.Least,
		r.resyncsBy(done.Greatest + r.wait)} {
		if comes {
			syncs++
		}
	}
	if syncs > 0 || waits {
		syncs++
	}
	return min(syncs, 3)
}

// untilLastAfterSuccess returns the least time from the success of the startup probe to the last
// run of the readiness probe that it needs, if later runs follow the syncs of syncsAfterSuccess:
//
//	success ──► sync for the success ──► sync ──► sync        each one waits for a relist
//	              first run              later    later
//	   └─► tick   later                  later    later       a tick comes before the sync for the success
//	       first run
func (r *readyTiming) untilLastAfterSuccess() time.Duration {
	return r.untilLastAfterSyncs(max(0, r.nextTick()))
}

// untilLastAfterSyncs is untilLastAfterSuccess if the first run at a tick that comes before the
// sync for the success is some time after the success.
func (r *readyTiming) untilLastAfterSyncs(tick time.Duration) time.Duration {
	syncs := r.syncsAfterSuccess()
	later := r.successes - 1
	if !r.apart() {
		return r.untilLastAmongTicksAfterSuccess(syncs)
	}
	least := later * r.period
	for runs := range min(max(syncs-1, r.resync()), later) + 1 {
		least = min(least, r.triggered(runs, r.relists(runs)))
	}
	if r.nextTick() <= r.wait+r.lists.Greatest {
		for runs := range min(syncs, later) + 1 {
			least = min(least, tick+r.triggered(runs, r.relists(runs-1)))
		}
	}
	return least
}

// untilLastAmongSyncs returns the least time from the first run to the last one that the probe
// needs, if initialDelaySeconds ends among the syncs. A period that begins with one of them can end
// before another one.
func (r *readyTiming) untilLastAmongSyncs() time.Duration {
	if within := r.lastAfterSuccess().moment - r.startup.success().Least; !r.apart() || r.period <= within {
		return r.triggered(r.syncsAfterSuccess(), 0)
	}
	return r.untilLastAfterSyncs(0)
}

// nextTick returns the least time from the success of the startup probe to the next tick of the
// readiness probe.
func (r *readyTiming) nextTick() time.Duration {
	u := r.startup
	if u.tick.Greatest > u.tick.Least {
		return 0
	}
	return nextMultiple(u.success().Least, r.period) - u.success().Greatest
}

// untilLastAmongTicksAfterSuccess is untilLastAfterSuccess if ticks can come between the syncs. The
// second sync waits for the lists of a relist, and the third one for a relist that begins a second
// later.
func (r *readyTiming) untilLastAmongTicksAfterSuccess(syncs time.Duration) time.Duration {
	later := r.successes - 1
	least := r.triggered(syncs, 0)
	if syncs > 0 && later > 0 {
		least = max(least, r.lists.Least)
	}
	if syncs > 2 && later > 1 {
		least = max(least, time.Second+max(0, later-3)*r.period-r.startup.took.Least)
	}
	return least
}

// relists returns the least time in which a number of relists come, for each of which a sync waits.
func (r *readyTiming) relists(n time.Duration) time.Duration {
	switch {
	case n < 1:
		return 0
	case n == 1:
		return r.lists.Least
	}
	return (n-1)*time.Second + r.lists.Least
}
