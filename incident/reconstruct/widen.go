package reconstruct

import (
	"errors"
	"slices"
	"time"

	"probesim.dev/incident"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// widenShare is the work, in percent of that of a search, that may go into each of fewer, wider and merged rules.
const widenShare = 4

// widen makes the windows of failures as wide as the recording and the run allow: the program can have begun to fail the probe at any time
// since the run of the probe before, and have stopped at any time until the next run. Windows stay as they are if the run would explain
// fewer facts.
func (s *search) widen() error {
	for _, p := range s.model.parts {
		for i := 0; i < len(p.rules); i++ {
			old, is := parseWindow(p.rules[i].text)
			if !is || s.spent > s.limit {
				continue
			}
			list := s.wider(p.container, old)
			best := len(list) == 0 // or the windows that follow from the recording alone are possible
			for k, wide := range list {
				kept, err := s.replace(p, i, wide.String())
				if err != nil {
					return err
				}
				if kept {
					best = k == 0 || !wide.ends && wide.open.covers(list[0].open)
					break
				}
			}
			if old.clock == "at" || best || old.first >= min(old.last, len(s.starts(p.container))-1) {
				continue
			}
			// What the recording tells about one instance does not fit to another one.
			first, others := old, old
			first.last, others.first = old.first, old.first+1
			kept, err := s.replace(p, i, first.String(), others.String())
			if err != nil {
				return err
			}
			if kept {
				i--
			}
		}
	}
	return nil
}

// replace replaces a rule by others if the run explains as much then.
func (s *search) replace(p *part, i int, texts ...string) (bool, error) {
	if len(texts) == 1 && texts[0] == p.rules[i].text {
		return true, nil
	}
	before := p.rules
	var rules []rule
	for _, text := range texts {
		rules = append(rules, rule{text, before[i].comment})
	}
	p.rules = slices.Concat(before[:i], rules, before[i+1:])
	kept, err := s.keep()
	if !kept {
		p.rules = before
	}
	return kept, err
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
	used, endless := false, false
	for _, probe := range probes {
		for _, l := range s.livesOf(container, r) {
			x := s.runsIn(container, probe, r, l)
			if x.first == nil {
				continue
			}
			used = true
			open.narrow(max(s.startBefore(container, requestOf(x.first)), x.before+time.Millisecond)-l.from, requestOf(x.first)-l.from)
			closed.narrow(requestOf(x.last)+time.Millisecond-l.from, max(x.next-time.Millisecond, requestOf(x.last)+time.Millisecond)-l.from)
			for _, w := range s.model.windowsOf(s.model.spec(container), probe) {
				began, stopped := s.explains(&w, x.first, x.last)
				if began {
					recordedOpen.meet(w.Began[0], w.Began[1], s.best.zero, l.from)
				}
				if stopped {
					recordedClosed.meet(w.Stopped[0], w.Stopped[1], s.best.zero, l.from)
					endless = endless || (w.Open == recordingEnds || w.Open == failuresMissing) && !s.endsAfter(container, x.last)
				}
			}
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
	add := func(open, closed interval, ends bool) {
		w := r
		w.ends = ends
		w.open = interval{max(open.from, 0), open.to}
		if ends {
			middle := w.open.middle()
			w.length = interval{closed.from - middle, closed.to - middle}
		}
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	if endless { // nothing tells that the program stopped
		add(either(recordedOpen, open), closed, false)
		add(open.around(recordedOpen), closed, false)
	}
	add(either(recordedOpen, open), either(recordedClosed, closed), r.ends)
	add(open.around(recordedOpen), closed.around(recordedClosed), r.ends)
	add(open.around(recordedOpen), closed, r.ends)
	add(open, closed, r.ends)
	return list
}

// endsAfter reports whether a container is stopped or exits after a run of its probe in the best run so far.
func (s *search) endsAfter(container string, last *trace.Record) bool {
	return slices.ContainsFunc(s.best.run.Records, func(r trace.Record) bool {
		return r.Container == container && r.T > last.T && (r.Kind == trace.ContainerStopping || r.Kind == trace.ContainerExited)
	})
}

// requestOf returns when a run of a probe began.
func requestOf(r *trace.Record) time.Duration { return r.T.Offset() - r.Took }

// inWindow has the first and the last run of a probe in the window of a rule, and the times of the runs before and after them. There is no
// run before if that time is negative.
type inWindow struct {
	first, last  *trace.Record
	before, next time.Duration
}

// runsIn returns the runs of a probe in the best run so far that the window of a rule has in an instance.
func (s *search) runsIn(container string, probe trace.Probe, r windowRule, l interval) inWindow {
	from, until := l.from+r.open.middle(), l.to
	if r.ends {
		until = min(until, from+r.length.middle())
	}
	x := inWindow{before: -1, next: l.to}
	for _, record := range s.probeRuns(container, probe) {
		switch at := requestOf(record); {
		case at < from:
			x.before = at
		case at < until:
			if x.first == nil {
				x.first = record
			}
			x.last = record
		default:
			x.next = min(x.next, at)
		}
	}
	return x
}

// explains reports whether the first of some runs is the first failure of a recorded event, and whether the last failure of the event is
// one of them. The kubelet may have dropped the events about later ones.
func (s *search) explains(w *Window, first, last *trace.Record) (began, stopped bool) {
	pattern, doubt := patternOf(incident.ParseUnhealthy(w.Fact.Message)), time.Second+s.model.slackOf(w.Container)
	fails := func(r *trace.Record) bool {
		return pattern == patternOf(incident.Unhealthy{Probe: r.Probe, Result: r.Result, Output: r.Message})
	}
	at := func(m incident.Moment) time.Duration { return m.At.Add(m.Within / 2).Sub(s.best.zero) }
	end := at(w.Fact.Last)
	doubtOfEnd := doubt + w.Fact.Last.Within/2
	return fails(first) && (at(w.Fact.When)-first.T.Offset()).Abs() < doubt+w.Fact.When.Within/2,
		fails(last) && end > first.T.Offset()-doubtOfEnd && end < last.T.Offset()+doubtOfEnd
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
