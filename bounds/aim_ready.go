package bounds

import (
	"errors"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// aimToReady extends a bound of the time until ready by a case in which a sync of the pod begins just after the first success of a probe
// that needs several. The sync leads to another run at once (UpdatePodStatus in pkg/kubelet/prober/prober_manager.go at v1.37.0).
//
// The case is like the one with the least time so far, but the program comes up when a sync can come. The relists shift against the
// ticks that begin a sync, so at some age of the kubelet a tick comes just after the success.
func (s *Subject) aimToReady(b Bound) (Bound, error) {
	readiness := s.Probe(trace.Readiness)
	if readiness == nil || readiness.SuccessThreshold < 2 || s.Probe(trace.Startup) != nil {
		return b, nil
	}
	c := b.AtLeast.clone()
	drift := c.relistPeriod() - resyncTick
	for range maxSteps {
		first, ok, err := s.upBeforeSync(&c)
		if err != nil || !ok || drift <= 0 {
			return b, err
		}
		next, err := s.firstSuccess(c)
		if err != nil || next.ends == 0 { // a probe stops the container before the program is up
			return b, err
		}
		sync := next.after
		if next.ends != first { // the sync came before the success, and led to another run
			sync = next.before
		}
		late := modulo(sync.Sub(first), resyncTick)
		if late < justBefore+drift {
			one, err := c.question.measure(s, c)
			return b.Or(one.bound), err
		}
		c.Uptime += (late - justBefore) / drift * c.relistPeriod()
	}
	return b, nil
}

// upBeforeSync lets the program come up just before a run of the probe, at a time at which the kubelet syncs the pod shortly after the
// run. It returns false if there is no such time.
func (s *Subject) upBeforeSync(c *Case) (ends virtual.Time, ok bool, err error) {
	c.SyncJitter = 0.99 // after the success
	first, err := s.firstSuccess(*c)
	if err != nil || first.ends == 0 {
		return 0, false, err
	}
	var wait time.Duration // until a sync can follow
	for first.ends.Add(wait).Sub(first.before) < resync+3*resyncTick {
		wait += s.period(trace.Readiness)
	}
	c.shift(first.begins.Add(wait).Sub(virtual.At(c.Event)))
	c.SyncJitter = (float64(first.ends.Add(wait-aside).Sub(first.before))/float64(resync) - 1) / 0.5
	return first.ends.Add(wait), c.SyncJitter >= 0 && c.SyncJitter < 1, nil
}

// success is the first success of a readiness probe, and the syncs before and after it.
type success struct{ begins, ends, before, after virtual.Time }

// firstSuccess returns the first success of the readiness probe. It is zero if there is none, or if the container is stopped before.
func (s *Subject) firstSuccess(c Case) (first success, err error) {
	_, err = s.record(&c, s.recorder(trace.PodSync), c.Event+2*resync, func(r *trace.Record) bool {
		switch {
		case r.Kind == trace.PodSync && first.ends == 0:
			first.before = r.T
		case r.Kind == trace.PodSync:
			first.after = r.T
		case s.succeeds(trace.Readiness)(r) && first.ends == 0:
			first.begins, first.ends = request(r), r.T
		}
		return first.after > 0 || first.ends == 0 && s.stopped(0)(r)
	})
	if errors.Is(err, errNothing) {
		err = nil
	}
	return first, err
}

// aimToStarted extends a bound of the time until ready by a case in which a sync without an event begins just before the success of the startup
// probe. The sync for the success then waits for a relist.
//
// The case is like the one with the greatest time so far, but a program that comes up later does so a minute after the sync before.
func (s *Subject) aimToStarted(b Bound) (Bound, error) {
	if s.Probe(trace.Startup) == nil || b.isNone() || b.Greatest == Never || b.found(true) {
		return b, nil
	}
	for _, order := range []order{"", lateSync} {
		c := b.AtGreatest.clone()
		c.SyncJitter, c.order = 0.99, order // the sync after the success
		success, sync, _, err := s.startupSuccess(c)
		if err != nil || success == 0 {
			return b, err
		}
		for c.Event > 0 && success.Sub(sync) < resync {
			c.shift(s.period(trace.Startup))
			success = success.Add(s.period(trace.Startup))
		}
		if tick := max(success.Add(-justBefore), sync.Add(resync+fine)); tick < success {
			return s.aimToTick(b, c, tick, sync)
		}
	}
	return b, nil
}

// aimToTick extends a bound by a case whose next sync without an event begins at a tick, just after a relist begins. The age of the kubelet decides when
// it ticks. A kubelet that is older by whole seconds has other relists. It does not list for its housekeeping at the tick.
func (s *Subject) aimToTick(b Bound, c Case, tick, before virtual.Time) (Bound, error) {
	due := max(tick.Add(-resyncTick/2), before.Add(resync))
	jitter := (float64(due.Sub(before))/float64(resync) - 1) / 0.5
	if jitter >= 1 {
		return b, nil
	}
	c = c.aged(c.Uptime + modulo(resyncTick-c.Uptime-tick.Offset(), housekeepingPeriod))
	for range 2 { // the age can change the relists until the start too
		_, _, relist, err := s.startupSuccess(c)
		if err != nil {
			return b, err
		}
		since := func(older int) time.Duration {
			return modulo(tick.Sub(relist)+time.Duration(older)*housekeepingPeriod-fine, c.relistPeriod())
		}
		best := 0
		for older := range ages {
			if since(older) < since(best) {
				best = older
			}
		}
		c = c.aged(c.Uptime + time.Duration(best)*housekeepingPeriod)
		x := c
		x.SyncJitter = jitter
		one, err := x.question.measure(s, x)
		if err != nil {
			return b, err
		}
		b = b.Or(one.bound)
	}
	return b, nil
}

// startupSuccess returns the time at which the startup probe succeeds, that of the last sync before, and that at which the last relist before begins.
// They are zero if the container is stopped before.
func (s *Subject) startupSuccess(c Case) (success, sync, relist virtual.Time, err error) {
	to := &trace.Recorder{Internal: true, Sink: func(*trace.Record) {}}
	_, err = s.record(&c, to, s.longestRun(), func(r *trace.Record) bool {
		switch {
		case r.Kind == trace.PodSync:
			sync = r.T
		case s.isRelist(&c, r):
			relist = request(r)
		case s.succeeds(trace.Startup)(r):
			success = r.T
		}
		return success > 0 || s.stopped(0)(r)
	})
	if errors.Is(err, errNothing) {
		err = nil
	}
	return success, sync, relist, err
}
