package reconstruct

import (
	"time"

	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/format"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// missing returns how far an attempt is from an explanation of all facts, 0 if it explains all: up to 1000 for each fact that it does
// not explain, and less the closer its run is to that fact. So a repair sees which of two changes leads to a fact that neither explains.
func (a *attempt) missing() int {
	sum := 0
	for i := range a.claims {
		if r := &a.run.Results[i]; r.Outcome != expect.Held {
			sum += 1000 - a.nearness(r.Expect)
		}
	}
	return sum
}

// explainedUntil returns the time until which an attempt explains all facts: the earliest end of the window of a fact that it does not.
func (a *attempt) explainedUntil() time.Duration {
	until := a.plan.Duration
	for i := range a.claims {
		if r := &a.run.Results[i]; r.Outcome != expect.Held {
			until = min(until, r.Expect.Window().Max)
		}
	}
	return until
}

// nearness returns how close a run is to an expectation that it does not meet, from 0 to 900.
func (a *attempt) nearness(e *format.Expect) int {
	w := e.Window()
	if e.Moment() == nil {
		return byDistance(a.statusOff(e))
	}
	times := a.offsets(e)
	if w.Kind == format.First && len(times) > 0 {
		return byDistance(distance(times[0], w.Min, w.Max))
	}
	inside, least := 0, time.Duration(-1)
	for _, t := range times {
		d := distance(t, w.Min, w.Max)
		if d == 0 {
			inside++
		}
		if least < 0 || d < least {
			least = d
		}
	}
	switch {
	case w.Kind == format.Never:
		return 900 / (1 + inside)
	case e.Count == nil || inside == 0 && e.Count.Min <= 1:
		return byDistance(least)
	}
	return 900 / (1 + max(e.Count.Min-inside, inside-e.Count.Max))
}

// offsets returns the times of the records that an expectation looks for.
func (a *attempt) offsets(e *format.Expect) []time.Duration {
	m := e.Moment()
	if m == nil {
		return nil
	}
	var times []time.Duration
	watcher := m.NewWatcher(nil)
	for i := range a.run.Records {
		if r := &a.run.Records[i]; watcher.Observe(r) {
			times = append(times, r.T.Offset())
		}
	}
	return times
}

// statusOff returns how long an expected status does not hold in a window in which it always should, or else the time from the window to
// the nearest time at which it holds. It is negative if the status never holds.
func (a *attempt) statusOff(e *format.Expect) time.Duration {
	w := e.Window()
	var state match.State
	nearest, held := time.Duration(-1), time.Duration(0)
	on, since := false, time.Duration(0)
	end := func(t time.Duration) {
		if !on {
			return
		}
		held += max(min(t, w.Max)-max(since, w.Min), 0)
		if d := max(w.Min-t, since-w.Max, 0); nearest < 0 || d < nearest {
			nearest = d
		}
	}
	for i := range a.run.Records {
		r := &a.run.Records[i]
		switch r.Kind {
		case trace.PodAdded, trace.StatusPatched, trace.PodRemoved:
			state.Apply(r)
			if now := e.Status.Status(state.Status(r.Pod), e.Container); now != on {
				end(r.T.Offset())
				on, since = now, r.T.Offset()
			}
		}
	}
	end(a.plan.Duration)
	if w.Kind == format.Always && nearest >= 0 {
		return w.Max - w.Min - held
	}
	return nearest
}

func distance(t, from, to time.Duration) time.Duration {
	switch {
	case t < from:
		return from - t
	case t > to:
		return t - to
	}
	return 0
}

// byDistance returns 900 for no distance, half of that for 10 s, and 0 for a negative distance: there is nothing to measure from.
func byDistance(d time.Duration) int {
	if d < 0 {
		return 0
	}
	return int(900 * 10 * time.Second / (10*time.Second + d))
}
