package probetest

import (
	"fmt"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Window is the part of a run that a matcher looks at: all of it, unless Within, Between or After says otherwise. Times
// are virtual, and both ends are included. A window must be over when it is looked at: what the rest of it brings is not
// known.
type Window[M any] struct {
	matcher *M
	window
}

// Within has the matcher look no further than so long after the pod was added.
func (w *Window[M]) Within(d time.Duration) *M {
	w.window = window{until: &d, sinceAdded: true}
	return w.matcher
}

// Between has the matcher look at the time between two virtual times since t=0.
func (w *Window[M]) Between(from, to time.Duration) *M {
	w.window = window{from: &from, until: &to}
	return w.matcher
}

// After has the matcher look from a virtual time since t=0 on.
func (w *Window[M]) After(t time.Duration) *M {
	w.window = window{from: &t}
	return w.matcher
}

type window struct {
	from, until *time.Duration // nil: open
	sinceAdded  bool           // until counts from the addition of the pod
}

// span returns the virtual times that a window means for a pod.
func (w window) span(s *subject) (from, to time.Duration, err error) {
	from, to = s.record(s.pod.indexes()[0]).T, s.pod.log.end
	added := from
	if w.from != nil {
		from = *w.from
	}
	if w.until != nil {
		to = *w.until
	}
	if w.sinceAdded {
		to += added
	}
	end := s.pod.log.end
	switch {
	case to > end:
		return 0, 0, fmt.Errorf("the window ends at %s, and the run has only come to %s: call Advance before", trace.FormatTime(to), trace.FormatTime(end))
	case from > to && w.until == nil:
		return 0, 0, fmt.Errorf("the window begins at %s, and the run has only come to %s: call Advance before", trace.FormatTime(from), trace.FormatTime(end))
	case from > to:
		return 0, 0, fmt.Errorf("the window is empty: it ends at %s, before it begins at %s", trace.FormatTime(to), trace.FormatTime(from))
	case to < added:
		return 0, 0, fmt.Errorf("the window is over at %s, before the pod %s was added at %s", trace.FormatTime(to), s.pod, trace.FormatTime(added))
	}
	return from, to, nil
}

func (w window) words() string {
	switch {
	case w.sinceAdded:
		return " within " + value.Format(*w.until)
	case w.until != nil:
		return " between " + value.Format(*w.from) + " and " + value.Format(*w.until)
	case w.from != nil:
		return " after " + value.Format(*w.from)
	}
	return ""
}
