package probetest

import (
	"errors"
	"fmt"
	"math"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// window is the part of a run that a matcher examines. Both ends are inclusive and count from the
// addition of the pod. The zero value is the whole run.
type window struct {
	from, until *time.Duration // nil: open
}

// span returns the virtual times at which the window begins and ends for a subject. A window that
// extends past the end of the run is an error, because the rest of the run could change the result.
func (w window) span(s *subject) (from, to virtual.Time, err error) {
	added, end := s.added(), s.pod.log.end
	from, to = added, end
	if w.from != nil {
		from = added.Add(min(*w.from, MaxTime+1)) // a sum with a longer duration could overflow
	}
	if w.until != nil {
		to = added.Add(min(*w.until, MaxTime+1))
	}
	const tooEarly = "the window %s %s after the pod was added, at %s, but the run has only reached %s%s"
	switch {
	case w.from != nil && *w.from < 0:
		return 0, 0, fmt.Errorf("the window begins %s before the pod was added: the start must not be negative",
			value.Format(-max(*w.from, math.MinInt64+1)))
	case w.until != nil && (from > to || w.from != nil && *w.from > *w.until):
		return 0, 0, fmt.Errorf("the window is empty: it ends %s after the pod was added and begins after %s",
			value.Format(*w.until), value.Format(from.Sub(added)))
	case to > end:
		return 0, 0, fmt.Errorf(tooEarly, "ends", value.Format(*w.until), trace.FormatTime(to), trace.FormatTime(end),
			s.pod.more())
	case w.until == nil && from >= to:
		return 0, 0, fmt.Errorf(tooEarly, "begins", value.Format(*w.from), trace.FormatTime(from),
			trace.FormatTime(end), s.pod.more())
	case w.from == nil && from >= to:
		return 0, 0, errors.New("the window ends when the pod is added: nothing can happen in it")
	}
	return from, to, nil
}

// words describes the window as the end of a sentence.
func (w window) words() string {
	switch {
	case w.until != nil && w.from == nil:
		return " within " + value.Format(*w.until) + " after the pod was added"
	case w.until != nil:
		return " between " + value.Format(*w.from) + " and " + value.Format(*w.until) + " after the pod was added"
	case w.from != nil:
		return ", " + value.Format(*w.from) + " or more after the pod was added"
	}
	return ""
}
