package probetest

import (
	"fmt"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// ReadyInterval is a time during which a pod or container was Ready: from From until it was no
// longer Ready at To. Both count from the addition of the pod. Each is a time.Duration, compared to
// the millisecond, or a Gomega matcher of a time.Duration. A nil To means that it was still Ready
// at the end of the window or run; a nil From is an error.
type ReadyInterval struct{ From, To any }

// HaveReadyIntervals succeeds if the pod or container was Ready during exactly these intervals. An
// interval that began before the window counts from the beginning of the window.
//
//	Expect(web).To(HaveReadyIntervals(
//		ReadyInterval{From: 5 * time.Second, To: BeNumerically("<", time.Minute)},
//		ReadyInterval{From: BeNumerically("~", 70*time.Second, time.Second)},
//	))
//	Expect(web).To(HaveReadyIntervals()) // never Ready
func HaveReadyIntervals(intervals ...ReadyInterval) *HaveReadyIntervalsMatcher {
	words := ""
	if len(intervals) > 0 {
		words = "from " + listOf(intervals, ReadyInterval.String)
	}
	return newList("HaveReadyIntervals", "been ready", words, readyIntervals(intervals).compare)
}

// HaveReadyIntervalsMatcher is the type of HaveReadyIntervals.
type HaveReadyIntervalsMatcher = ListMatcher

type readyIntervals []ReadyInterval

// ready is an interval of a run in virtual times.
type ready struct {
	from, to virtual.Time
	open     bool  // still ready
	records  []int // indexes of the records that begin and end it
}

func (r ready) String() string {
	if r.open {
		return trace.FormatTime(r.from) + " on"
	}
	return trace.FormatTime(r.from) + " to " + trace.FormatTime(r.to)
}

// String returns the interval in words, such as "5.000s to 60.000s".
func (i ReadyInterval) String() string {
	if i.To == nil {
		return timeText(i.From) + " on"
	}
	return timeText(i.From) + " to " + timeText(i.To)
}

func (expected readyIntervals) compare(s *subject, w window) (bool, *finding, error) {
	from, to, err := w.span(s)
	if err == nil {
		err = expected.possible(s, w, from, to)
	}
	if err != nil {
		return false, nil, err
	}
	all := within(s.readyTimes(), from, to)
	same, center := len(all) == len(expected), to
	var marks []int
	for i, r := range all {
		marks = append(marks, r.records...)
		if i >= len(expected) {
			same, center = false, r.from
			break
		}
		ok, at, err := expected[i].matches(r, s.added())
		if err != nil {
			return false, nil, err
		}
		if !ok {
			same, center = false, at
			break
		}
	}
	got := "It never was"
	if len(all) > 0 {
		got = "It was from " + listOf(all, ready.String)
	}
	return same, s.finding(got, center, marks...), nil
}

// possible returns an error if no run can have the intervals.
func (expected readyIntervals) possible(s *subject, w window, from, to virtual.Time) error {
	var last time.Duration // the end of the interval before
	for n, i := range expected {
		for _, t := range []any{i.From, i.To} {
			if err := possibleTime(s, t); err != nil && (t != nil || i.From == nil) {
				return fmt.Errorf("interval %d: %w", n+1, err)
			}
		}
		if i.To == nil && n < len(expected)-1 {
			return fmt.Errorf("interval %d has no end, and another one follows it", n+1)
		}
		for end, t := range []any{i.From, i.To} {
			d, ok := t.(time.Duration)
			switch at := s.added().Add(d); {
			case !ok:
			case d < last || d == last && end == 1:
				return fmt.Errorf("interval %d is out of order: %s does not come after %s", n+1, value.Format(d),
					value.Format(last))
			case at < from || at > to:
				return fmt.Errorf("interval %d: %s is outside of the window%s", n+1, value.Format(d), w.words())
			default:
				last = d
			}
		}
	}
	return nil
}

// matches compares an interval of a run, and returns the virtual time of the difference.
func (i ReadyInterval) matches(r ready, added virtual.Time) (bool, virtual.Time, error) {
	ok, err := matchesTime(i.From, r.from.Sub(added))
	if err != nil || !ok {
		return false, r.from, err
	}
	if i.To == nil || r.open {
		return i.To == nil && r.open, r.to, nil
	}
	ok, err = matchesTime(i.To, r.to.Sub(added))
	return ok, r.to, err
}

// readyTimes returns the intervals during which the subject was ready.
func (s *subject) readyTimes() []ready {
	var list []ready
	for _, c := range s.readyChanges() {
		if c.on {
			list = append(list, ready{from: c.t, to: s.pod.log.end, open: true, records: []int{c.record}})
		} else if len(list) > 0 {
			last := &list[len(list)-1]
			last.to, last.open, last.records = c.t, false, append(last.records, c.record)
		}
	}
	return list
}

// within returns the parts of intervals that are inside a window.
func within(all []ready, from, to virtual.Time) []ready {
	var list []ready
	for _, r := range all {
		if r.to <= from && !r.open || r.from > to {
			continue
		}
		r.from = max(r.from, from)
		if r.open || r.to > to {
			r.to, r.open = to, true
		}
		list = append(list, r)
	}
	return list
}
