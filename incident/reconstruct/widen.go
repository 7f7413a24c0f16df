package reconstruct

import (
	"errors"
	"slices"
	"time"

	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// widenShare is the work, in percent of that of a search, that may go into wider and merged rules.
const widenShare = 10

// widen makes the windows of failures as wide as the recording and the run allow: the program can have begun to fail the probe at any time
// since the run of the probe before, and have stopped at any time until the next run. Windows stay as they are if the run would explain
// fewer facts.
func (s *search) widen() error {
	limit := s.spent + s.effort*widenShare/100
	for _, p := range s.model.parts {
		for i := range p.rules {
			old, is := parseWindow(p.rules[i].text)
			if !is || s.spent > limit {
				continue
			}
			for _, wide := range s.wider(p.container, old) {
				text := wide.String()
				if text == p.rules[i].text {
					break
				}
				before := p.rules
				p.rules = slices.Clone(before)
				p.rules[i].text = text
				kept, err := s.keep()
				if err != nil {
					return err
				}
				if kept {
					break
				}
				p.rules = before
			}
		}
	}
	return nil
}

// keep reports whether the model as it is explains as much as the best run so far, which it then is.
func (s *search) keep() (bool, error) {
	a, err := s.attempt()
	if errors.Is(err, simulate.ErrInterrupted) {
		return false, err
	}
	if err != nil || held(a) < held(s.best) {
		return false, nil
	}
	s.best = a
	return true, nil
}

// wider returns a rule with wider windows, the best first: with those that follow from the recording alone; with the smallest that cover
// these and leave the best run as it is; and with those that leave it as it is. A rule without an effect stays as it is.
func (s *search) wider(container string, r windowRule) []windowRule {
	everything := interval{0, s.best.plan.Duration}
	open, closed := everything, everything
	recordedOpen, recordedClosed := interval{everything.to, 0}, interval{everything.to, 0}
	probes := []trace.Probe{r.probe}
	if r.probe == allProbes {
		probes = probesOf(s.model.spec(container))
	}
	used := false
	for _, probe := range probes {
		for _, l := range s.livesOf(container, r) {
			start := l.from
			first, last, next := s.runsIn(container, probe, r, l)
			if first.at < 0 {
				continue
			}
			used = true
			open.narrow(max(s.startBefore(container, first.at), first.before+time.Millisecond)-start, first.at-start)
			closed.narrow(last+time.Millisecond-start, max(next-time.Millisecond, last+time.Millisecond)-start)
			began, stopped := s.recordedWindow(container, probe, r.word, first.at, last)
			recordedOpen.extend(began[0], began[1], s.best.zero, start)
			recordedClosed.extend(stopped[0], stopped[1], s.best.zero, start)
		}
	}
	if !used || open.empty() || r.ends && closed.empty() {
		return nil
	}
	either := func(recorded, other interval) interval {
		if recorded.empty() {
			return other
		}
		return recorded
	}
	var list []windowRule
	for _, b := range [][2]interval{
		{either(recordedOpen, open), either(recordedClosed, closed)},
		{open.around(recordedOpen), closed.around(recordedClosed)},
		{open.around(recordedOpen), closed},
		{open, closed},
	} {
		w := r
		w.open = interval{max(b[0].from, 0), b[0].to}
		middle := w.open.middle()
		w.length = interval{b[1].from - middle, b[1].to - middle}
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// firstRun is the first run of a probe in a window, and the run before it. A negative time stands for none.
type firstRun struct{ before, at time.Duration }

// runsIn returns the requests of the best run so far that are in the window of a rule in an instance: the first one, the last one, and the
// next one after it, or the end of the instance.
func (s *search) runsIn(container string, probe trace.Probe, r windowRule, l interval) (first firstRun, last, next time.Duration) {
	from, until := l.from+r.open.middle(), l.to
	if r.ends {
		until = min(until, from+r.length.middle())
	}
	first, next = firstRun{-1, -1}, l.to
	before := time.Duration(-1)
	for _, x := range s.probeRuns(container, probe) {
		at := x.T.Offset() - x.Took
		switch {
		case at >= from && at < until:
			if first.at < 0 {
				first = firstRun{before, at}
			}
			last = at
		case at >= until:
			next = min(next, at)
		}
		before = at
	}
	return first, last, next
}

// recordedWindow returns when the program began and stopped to fail a probe with an answer, as far as the recording has an event whose first
// or last failure is at about these times.
func (s *search) recordedWindow(container string, probe trace.Probe, word string, first, last time.Duration) (began, stopped [2]time.Time) {
	c := s.model.spec(container)
	doubt := time.Second + s.model.slackOf(container)
	windows := s.model.windowsOf(c, probe)
	for i, o := range s.outages(c, probe) {
		if i >= len(windows) || o.word != word {
			continue
		}
		if (o.first - first).Abs() < doubt {
			began = windows[i].Began
		}
		if o.last > first-doubt-o.doubt && o.last < last+doubt+o.doubt { // in a longer row the kubelet dropped the later events
			stopped = windows[i].Stopped
		}
	}
	return began, stopped
}

// livesOf returns the times in the best run so far at which the clock of a rule is zero, and until which it counts.
func (s *search) livesOf(container string, r windowRule) []interval {
	end := s.best.plan.Duration
	if r.clock == "at" {
		return []interval{{0, end}}
	}
	var list []interval
	starts := s.starts(container)
	for k, t := range starts {
		l := interval{t.Offset(), end}
		if k+1 < len(starts) {
			l.to = starts[k+1].Offset()
		}
		if k >= r.first && k <= r.last {
			list = append(list, l)
		}
	}
	return list
}

// startBefore returns the last start of a container until a time.
func (s *search) startBefore(container string, at time.Duration) time.Duration {
	var last time.Duration
	for _, t := range s.starts(container) {
		if t.Offset() <= at {
			last = t.Offset()
		}
	}
	return last
}
