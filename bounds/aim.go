package bounds

import (
	"errors"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The kubelet syncs a pod again 60 s after the last sync, plus a jitter of up to half (syncFrequency, and the jitter of
// pkg/kubelet/pod_workers.go at v1.37.0). The sync begins at a tick of each second.
const (
	resync     = time.Minute
	resyncTick = time.Second
)

// ages is the number of ages of the kubelet that aim tries. The relists shift against the ticks by some milliseconds a second, so
// each phase occurs at an age of up to ages relists.
const ages = 190

// coarse is the number of those that aim tries first.
const coarse = 19

// aim extends a bound of the time until the stop signal by the cases in which a sync of the pod begins just before the verdict. The
// kill then waits for a look at the runtime that is newer than the sync: the next relist, up to about a second later.
//
// The case with the greatest value so far moves to a time at which a sync can come. The kubelet's age decides the phases of the ticks
// and the relists.
func (s *Subject) aim(b Bound) (Bound, error) {
	c, ok, err := s.syncsBefore(b.AtGreatest)
	if err != nil || !ok {
		return b, err
	}
	base, period := c.Uptime, c.relistPeriod()
	best, at := b.Greatest, -1
	try := func(age int) error {
		c.Uptime = base + time.Duration(age)*period
		one, err := s.atTick(c)
		if err != nil || one.bound.Least == Never {
			return err
		}
		if one.bound.Greatest > best {
			best, at = one.bound.Greatest, age
		}
		b = b.Or(one.bound)
		return nil
	}
	for age := 0; age < ages; age += ages / coarse {
		if err := try(age); err != nil {
			return b, err
		}
	}
	if at < 0 {
		return b, nil
	}
	for step := ages / coarse / 2; step > 0; step /= 2 {
		for _, age := range []int{at - step, at + step} {
			if age < 0 {
				continue
			}
			if err := try(age); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

// syncsBefore returns the case with a later event in the same phase, between the least and the greatest time from a sync to the next.
// It returns false if there is no such event.
func (s *Subject) syncsBefore(c Case) (Case, bool, error) {
	verdict, syncs, err := s.syncs(c)
	if err != nil || len(syncs) == 0 {
		return c, false, err
	}
	last := syncs[len(syncs)-1]
	if last.Offset() >= c.Event { // the misfortune itself leads to a sync, and the next one comes too late
		return c, false, nil
	}
	period := time.Duration(s.Probe(trace.Liveness).PeriodSeconds) * time.Second
	for wait := verdict.Sub(last); wait < resync*3/2-3*resyncTick; wait += period {
		if wait > resync+3*resyncTick {
			c = c.clone()
			c.shift(wait - verdict.Sub(last))
			return c, true, nil
		}
	}
	return c, false, nil
}

// syncs returns the time of the verdict, and the times of the syncs before it.
func (s *Subject) syncs(c Case) (verdict virtual.Time, before []virtual.Time, err error) {
	h, err := s.record(&c, s.recorder(trace.PodSync), horizon, func(r *trace.Record) bool {
		return r.T >= virtual.At(c.Event) && s.stopped(0)(r)
	})
	if errors.Is(err, errNothing) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	v, err := h.verdict()
	if err != nil {
		return 0, nil, err
	}
	for i := range h {
		if h[i].Kind == trace.PodSync && h[i].T < v.T {
			before = append(before, h[i].T)
		}
	}
	return v.T, before, nil
}

// atTick measures a case whose sync begins just before the verdict. The jitter makes the sync due half a second before the verdict. The
// kubelet's age changes by up to two seconds, so that the tick that begins the sync comes just before the verdict.
func (s *Subject) atTick(c Case) (sample, error) {
	c.SyncJitter = 0.99 // not before the verdict
	for range 5 {
		verdict, syncs, err := s.syncs(c)
		if err != nil || len(syncs) < 2 {
			return sample{bound: at(Never, c)}, err
		}
		last := syncs[len(syncs)-1]
		due := verdict.Add(-resyncTick)
		if early := verdict.Sub(last); early < 2*resyncTick {
			if early < 2*justBefore {
				return c.question.measure(s, c)
			}
			if c.Uptime -= early - justBefore; c.Uptime < s.old() {
				c.Uptime += resyncTick
			}
			last, due = syncs[len(syncs)-2], verdict.Add(-resyncTick/2)
		}
		c.SyncJitter = (float64(due.Sub(last))/float64(resync) - 1) / 0.5
		if c.SyncJitter < 0 || c.SyncJitter >= 1 {
			break
		}
	}
	return sample{bound: at(Never, c)}, nil
}

// justBefore is the time from the sync to the verdict.
const justBefore = 3 * time.Millisecond
