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

// ages is the number of ages of the kubelet that aim and ageAfter consider. The relists shift against the whole seconds of its age by some
// milliseconds a second, so each phase occurs at an age of up to ages relists.
const ages = 190

// aim extends a bound of the time until the stop signal, or until a status shows the restart, by cases in which a sync of the pod begins just before the
// verdict, and a relist just before this sync. The kill then waits for a look at the runtime that is newer than the sync: the end of the next relist.
//
// The case with the greatest value so far moves to a time at which a sync can come, and which is later by a multiple of a time after which the phases
// that matter repeat. The kubelet's age decides the phases of the ticks and the relists.
func (s *Subject) aim(b Bound, n Nodes, phase time.Duration) (Bound, error) {
	c, ok, err := s.syncsBefore(b.AtGreatest.corner(true, n.dims(listPodSandbox, listContainers)), phase)
	if err != nil || !ok {
		return b, err
	}
	for range aimSteps {
		one, err := s.atTick(c)
		if err != nil || one.bound.Least == Never {
			return b, err
		}
		b, c = b.Or(one.bound), one.bound.AtGreatest
		since, err := s.sinceRelist(c)
		if err != nil || since < 2*tolerance {
			return b, err
		}
		c = n.relistsBefore(c, since)
	}
	return b, nil
}

// aimSteps is the number of steps of aim. A step finds the phase of the relists, which changes a little when the kubelet has another age.
const aimSteps = 5

// relistsBefore returns the case with a relist that begins just before a sync at a tick. The last relist begins some time before this sync now. A
// kubelet that is older by periods of the housekeeping keeps the phase of the ticks. Lists that take a little less time do the rest.
func (n Nodes) relistsBefore(c Case, since time.Duration) Case {
	period, containers := c.relistPeriod(), c.value(listContainers)
	best, least := c, since
	for i := range time.Duration(ages) {
		if least < tolerance {
			break
		}
		next := c
		next.Uptime += i * housekeepingPeriod
		off := modulo(since+i*housekeepingPeriod-fine, period)
		if off < least {
			best, least = next, off
		}
		less := (period - off) / (next.Uptime / period) // for each relist, and the case loses it three times
		if less > 0 && 3*less < least && containers-less >= n.draw(listContainers).Min {
			best, least = next.in(n.dims(listContainers)[0], containers-less), 3*less
		}
	}
	return best
}

// sinceRelist returns the time from the begin of a relist to the sync before the verdict.
func (s *Subject) sinceRelist(c Case) (time.Duration, error) {
	_, syncs, err := s.syncs(c)
	if err != nil || len(syncs) == 0 {
		return 0, err
	}
	last, since := syncs[len(syncs)-1], time.Duration(0)
	_, err = s.record(&c, &trace.Recorder{Internal: true, Sink: func(*trace.Record) {}}, s.longestRun(), func(r *trace.Record) bool {
		if s.isRelist(&c, r) && request(r) < last {
			since = last.Sub(request(r))
		}
		return r.T > last.Add(c.relistPeriod())
	})
	return since, err
}

// isRelist reports whether a record is that of the call with which a relist of all pods begins. The housekeeping makes the same call.
func (s *Subject) isRelist(c *Case, r *trace.Record) bool {
	return r.Kind == trace.CRICall && r.Pod == "" && r.Reason == "ListPodSandbox" && modulo(c.Uptime+request(r).Offset(), housekeepingPeriod) != 0
}

// syncsBefore returns the case with an event that is later by a multiple of a time, so that a sync without an event can come just before the
// verdict. It returns false if there is no such event.
func (s *Subject) syncsBefore(c Case, phase time.Duration) (Case, bool, error) {
	c.SyncJitter = 0.99
	verdict, syncs, err := s.syncs(c)
	if err != nil || len(syncs) == 0 {
		return c, false, err
	}
	last := c.lastWithEvent(syncs)
	if last.Offset() >= c.Event { // the misfortune itself leads to a sync, and the next one comes too late
		return c, false, nil
	}
	later, ok := time.Duration(0), false
	for by := time.Duration(0); by <= mostResyncs*resync; by += phase {
		if c.Event+by < last.Offset()+2*resyncTick {
			continue // at another age, the container could become ready too late
		}
		wait := verdict.Sub(last) + by // another age changes it a little
		if resyncs(wait) > 0 && resyncs(wait-resyncTick/4) > 0 && resyncs(wait+resyncTick/4) > 0 {
			later, ok = by, true
			break
		}
		if resyncs(wait) > 0 && !ok { // the best so far
			later, ok = by, true
		}
	}
	c = c.clone()
	c.shift(later)
	return c, ok, nil
}

// lastWithEvent returns the last of some syncs that has an event, and not only the time since the one before.
func (c *Case) lastWithEvent(syncs []virtual.Time) virtual.Time {
	due := time.Duration(float64(resync) * (1 + c.SyncJitter/2))
	for len(syncs) > 1 && syncs[len(syncs)-1].Sub(syncs[len(syncs)-2]) >= due {
		syncs = syncs[:len(syncs)-1]
	}
	return syncs[len(syncs)-1]
}

// mostResyncs is the number of syncs without an event that aim lets follow each other.
const mostResyncs = 6

// resyncs returns how many syncs without an event can follow each other so that the last one comes some time after a sync with an event. It returns 0
// if no number of them up to mostResyncs does.
func resyncs(after time.Duration) time.Duration {
	for n := time.Duration(1); n <= mostResyncs; n++ {
		each := (after / n).Round(resyncTick)
		if each > resync+3*resyncTick && each < resync*3/2-3*resyncTick && (after-n*each).Abs() < resyncTick*9/10 {
			return n
		}
	}
	return 0
}

// resyncJitter returns the jitter with which the last of some syncs without an event comes some time after a sync with an event. All but the first one
// come whole seconds after the one before. A jitter in the middle of those that lead there is the safest.
func resyncJitter(after, n time.Duration) float64 {
	each := (after / n).Round(resyncTick)
	first := after - (n-1)*each
	due := (max(first, each) - resyncTick + min(first, each)) / 2
	return (float64(due)/float64(resync) - 1) / 0.5
}

// syncs returns the time of the verdict, and the times of the syncs before it.
func (s *Subject) syncs(c Case) (verdict virtual.Time, before []virtual.Time, err error) {
	h, err := s.record(&c, s.recorder(trace.PodSync), s.longestRun(), func(r *trace.Record) bool {
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

// housekeepingAt returns the case with a kubelet whose age differs by up to half the period of its housekeeping, which then begins at some time.
func (c Case) housekeepingAt(t time.Duration) Case {
	half := housekeepingPeriod / 2
	c.Uptime += half - modulo(c.Uptime+t+half, housekeepingPeriod)
	return c
}

// lists returns the time of a list of all that runs.
func (c *Case) lists() time.Duration { return c.value(listPodSandbox) + c.value(listContainers) }

// atTick measures a case with a sync without an event just before the verdict. The kubelet's age changes by up to two seconds, so that an odd second
// of it comes just before the verdict, or the end of the housekeeping, which delays the sync at an even second.
func (s *Subject) atTick(c Case) (sample, error) {
	c.SyncJitter = 0.99
	for range 3 {
		verdict, syncs, err := s.syncs(c)
		if err != nil || len(syncs) == 0 {
			return sample{bound: at(Never, c)}, err
		}
		if verdict.Sub(syncs[len(syncs)-1]) < 2*justBefore {
			return c.question.measure(s, c)
		}
		tick := verdict.Add(-justBefore)
		if c = c.housekeepingAt(tick.Offset() - resyncTick); modulo(c.Uptime, housekeepingPeriod) < c.lists() { // it would delay the first sync
			c = c.housekeepingAt(tick.Offset() - c.lists())
		}
		if c.Uptime < s.old() {
			c.Uptime += housekeepingPeriod
		}
		after := tick.Sub(c.lastWithEvent(syncs))
		n := resyncs(after)
		if n == 0 {
			break
		}
		c.SyncJitter = resyncJitter(after, n)
	}
	return sample{bound: at(Never, c)}, nil
}

// justBefore is the time from the sync to the verdict.
const justBefore = time.Millisecond / 2
