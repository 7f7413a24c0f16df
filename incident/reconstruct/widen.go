package reconstruct

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// windowed matches a rule that fails a probe in a window: its clock, the range of its beginning, that of its length, and the answer.
var windowed = regexp.MustCompile(`^(?:(at|after): (\S+), )?(?:for: (\S+), )?(startup|liveness|readiness): ([^\[]+)$`)

// widen makes the windows of failures as wide as the run and the recording allow: the program can have begun to fail the probe at any time
// since the run of the probe before, and have stopped at any time until the next run. Windows stay as they are if the run would explain
// fewer facts.
func (s *search) widen() error {
	for _, p := range s.model.parts {
		for i := range p.rules {
			if s.spent > effort+effort/10 {
				return nil
			}
			for _, recorded := range []bool{true, false} {
				old := p.rules[i].text
				text := s.wider(p.container, old, recorded)
				if text == old {
					continue
				}
				before := p.rules
				p.rules = slices.Clone(before)
				p.rules[i].text = text
				a, err := s.attempt()
				if errors.Is(err, simulate.ErrInterrupted) {
					return err
				}
				if err == nil && held(a) >= held(s.best) {
					s.best = a
					break
				}
				p.rules = before
			}
		}
	}
	return nil
}

// interval has the earliest and the latest time of something.
type interval struct{ from, to time.Duration }

func (b *interval) narrow(from, to time.Duration) {
	b.from, b.to = max(b.from, from), min(b.to, to)
}

// extend covers another range, if that has bounds.
func (b *interval) extend(from, to time.Time, zero time.Time, start time.Duration) {
	if !from.IsZero() && !to.IsZero() {
		b.from, b.to = min(b.from, max(from.Sub(zero)-start, 0)), max(b.to, to.Sub(zero)-start)
	}
}

// around returns the smallest range that covers wide and whose middle, which a run without a seed takes, is in b. It returns b if that
// would add more than a time at one end: nothing recorded allows that.
func (b interval) around(wide interval, most time.Duration) interval {
	wide.from, wide.to = min(wide.from, b.from), max(wide.to, b.to)
	more := 2*b.from - wide.from - wide.to // at the end, so that the middle is not before b
	less := wide.from + wide.to - 2*b.to   // at the beginning, so that it is not after b
	switch {
	case more > most || less > most || less > wide.from:
		return b
	case more > 0:
		wide.to += more
	case less > 0:
		wide.from -= less
	}
	return wide
}

// wider returns the rule with the widest window that does not change the best run. With recorded, the window also has the times that the
// recording allows, which differ from those of the run if that differs from the recording. A rule without a window stays as it is.
func (s *search) wider(container, text string, recorded bool) string {
	m := windowed.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	clock, ends, probe := m[1], m[3] != "", trace.Probe(m[4])
	from, errFrom := middleOf(m[2])
	length, errLength := middleOf(m[3])
	if errFrom != nil || errLength != nil {
		return text
	}
	runs := s.probeRuns(container, probe)
	open, closed := interval{0, s.best.plan.Duration}, interval{0, s.best.plan.Duration}
	starts := []time.Duration{0}
	if clock != "at" {
		starts = nil
		for _, t := range s.starts(container) {
			starts = append(starts, t.Offset())
		}
	}
	used := false
	wideOpen, wideClosed := interval{s.best.plan.Duration, 0}, interval{s.best.plan.Duration, 0}
	for k, start := range starts {
		end := s.best.plan.Duration
		if clock != "at" && k+1 < len(starts) {
			end = starts[k+1]
		}
		until := end
		if ends {
			until = min(end, start+from+length)
		}
		first, last := -1, -1 // the runs in the window
		for i, r := range runs {
			if at := r.T.Offset() - r.Took; at >= start+from && at < until {
				if first < 0 {
					first = i
				}
				last = i
			}
		}
		if first < 0 {
			continue
		}
		used = true
		at := func(i int) time.Duration { return runs[i].T.Offset() - runs[i].Took }
		begin := s.startBefore(container, at(first))
		if first > 0 {
			begin = max(begin, at(first-1)+time.Millisecond)
		}
		open.narrow(begin-start, at(first)-start)
		next := end
		if last+1 < len(runs) {
			next = min(next, at(last+1)-time.Millisecond)
		}
		closed.narrow(at(last)+time.Millisecond-start, next-start)
		if w := s.windowFrom(container, probe, m[5], at(first)); w != nil && recorded {
			wideOpen.extend(w.Began[0], w.Began[1], s.best.zero, start)
			wideClosed.extend(w.Stopped[0], w.Stopped[1], s.best.zero, start)
		}
	}
	if !used || open.from > open.to || ends && closed.from > closed.to {
		return text
	}
	tick := period(incident.ProbeOf(s.model.spec(container), probe))
	open, closed = open.around(wideOpen, tick), closed.around(wideClosed, tick)
	wide := ""
	middle := (open.from + open.to) / 2
	if clock == "" && ends { // from the start on
		open, middle = interval{}, 0
	} else if open.to > 0 {
		if clock == "" {
			clock = "after"
		}
		wide = fmt.Sprintf("%s: %s, ", clock, between(open.from, open.to))
	}
	if ends {
		wide += fmt.Sprintf("for: %s, ", between(max(closed.from-middle, time.Millisecond), closed.to-middle))
	}
	return wide + fmt.Sprintf("%s: %s", probe, m[5])
}

// windowFrom returns the window of the recorded failures with an answer that begin at about a time, or nil.
func (s *search) windowFrom(container string, probe trace.Probe, word string, first time.Duration) *Window {
	c := s.model.spec(container)
	for i, w := range s.model.windowsOf(c, probe) {
		o := s.outages(c, probe)[i]
		if o.word == word && (o.first-first).Abs() < time.Second+s.model.slackOf(container) {
			return &w
		}
	}
	return nil
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

// middleOf returns the middle of a range, which is its value in a run without a seed.
func middleOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	from, to, isRange := strings.Cut(text, "..")
	a, err := value.ParseDuration(from)
	if err != nil || !isRange {
		return a, err
	}
	b, err := value.ParseDuration(to)
	return a + (b-a)/2, err
}
