package expect

import (
	"fmt"
	"strings"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// at formats a time of the run as in traces, with more digits if it is not a whole number of
// milliseconds.
func at(t virtual.Time) string {
	rest := t.Offset() % time.Millisecond
	if rest == 0 {
		return trace.FormatTime(t)
	}
	digits := strings.TrimRight(fmt.Sprintf("%06d", rest.Abs()), "0")
	return strings.TrimSuffix(trace.FormatTime(t.Add(-rest)), "s") + digits + "s"
}

// expected describes in words what an expectation expects of a pod in a window.
func (c *checker) expected(e *format.Expect, f *failure) string {
	who := subject(e, f)
	switch {
	case e.Lost != nil:
		return who + ": " + e.Lost.String() + " requests lost" + c.windowWords(e, f.window)
	case e.OrderHasPods():
		return orderWords(e.Order)
	case e.Order != nil:
		return who + ": " + orderWords(e.Order)
	case e.Transitions != nil:
		return who + ": " + transitionWords(e.Transitions) + c.windowWords(e, f.window)
	case e.Status != nil:
		return who + ": " + fieldWords(e.Status) + stateWindow(e) + c.windowWords(e, f.window)
	}
	return who + ": " + countWords(e) + what(e.Moment()) + c.windowWords(e, f.window)
}

func subject(e *format.Expect, f *failure) string {
	who := trace.PodName(f.key)
	if e.Workload != "" || e.Service != "" {
		return f.key
	}
	if e.Pods != nil {
		who = fmt.Sprintf("%s of %d pods", e.Pods, len(f.keys))
	} else if who == "" {
		who = "node"
	}
	if e.Container == "" || e.Order != nil {
		return who
	}
	if e.Pods != nil {
		return who + ", container " + e.Container
	}
	return who + "/" + e.Container
}

func stateWindow(e *format.Expect) string {
	switch e.Window().Kind {
	case format.Always:
		return " at every instant"
	case format.Never:
		return " at no instant"
	case format.Within:
		return " at some instant"
	}
	return ""
}

func (c *checker) windowWords(e *format.Expect, w window) string {
	text := " " + rangeWords(e.Window().TimeRange, e.Since != nil)
	if e.Since == nil {
		return text
	}
	text += " after " + momentWords(e.Since)
	if w.anchor < 0 {
		return text
	}
	span := at(w.from)
	if w.to != w.from {
		span += ".." + at(w.to)
	}
	return fmt.Sprintf("%s at %s (%s)", text, at(c.index.at(w.anchor)), span)
}

func rangeWords(r value.TimeRange, since bool) string {
	switch {
	case r.Min == r.Max:
		return "at " + r.String()
	case r != value.AllTime:
		return "in " + r.String()
	case since:
		return "in the rest of the run"
	}
	return "in the whole run"
}

// countWords describes the expected number of moments.
func countWords(e *format.Expect) string {
	switch e.Window().Kind {
	case format.First:
		return "the first "
	case format.Never:
		return "no "
	}
	if e.Count == nil {
		return "at least one "
	}
	return e.Count.String() + " x "
}

// momentWords names a moment with its own pod and its container.
func momentWords(m *match.Moment) string {
	where := m.Container
	if m.Pod != "" {
		where = strings.TrimSuffix(m.Pod+"/"+m.Container, "/")
	}
	return strings.TrimPrefix(where+" "+what(m), " ")
}

func what(m *match.Moment) string {
	text := "change to " + fieldWords(m.Becomes)
	if m.Record != nil {
		text = string(m.Record.Kind)
		if len(m.Record.Fields) > 0 {
			text += " " + fieldWords(m.Record.Fields)
		}
	}
	if m.Instance != nil {
		text += " of instance " + m.Instance.String()
	}
	return text
}

func fieldWords(fields match.Fields) string {
	return "{" + strings.Join(printable.Words(fields, match.Field.String), ", ") + "}"
}

func orderWords(order []*match.Moment) string {
	return strings.Join(printable.Words(order, momentWords), ", then ")
}

func transitionWords(t *match.Transitions) string {
	words := printable.Words(t.Values, value.Match.String)
	if t.Any {
		words = append(words, "any")
	}
	return t.Field + " [" + strings.Join(words, ", ") + "]"
}

// stateWords describes the fields of an expectation at t: their values in one pod or, with several
// pods, which pods match.
func (c *checker) stateWords(e *format.Expect, keys []string, t virtual.Time) string {
	if e.Pods != nil {
		var good, bad []string
		for _, key := range keys {
			if st := c.index.stateAt(key, t); st.matches(e.Status, e.Container) {
				good = append(good, trace.PodName(key))
			} else {
				bad = append(bad, trace.PodName(key))
			}
		}
		return podCountWords(good, bad)
	}
	st := c.index.stateAt(keys[0], t)
	switch {
	case e.Workload != "" && st.workload == nil:
		return "no Deployment"
	case e.Workload == "" && st.status == nil:
		return "no status"
	}
	words := make([]string, len(e.Status))
	for i, f := range e.Status {
		v, ok := st.lookup(e.Container, f.Name)
		if !ok {
			if match.InDetail(f.Name) && st.matches(nil, e.Container) {
				words[i] = "no " + f.Name
				continue
			}
			return "no status of the container"
		}
		words[i] = f.Name + ": " + v.String()
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// times lists the times of the first few records.
func (c *checker) times(records []int) string {
	const few = 6
	words := printable.Words(records[:min(len(records), few)], func(r int) string { return at(c.index.at(r)) })
	if len(records) > few {
		words = append(words, fmt.Sprintf("and %d more", len(records)-few))
	}
	return strings.Join(words, ", ")
}

// sinceAnchor describes the time from the anchor of a window to t.
func (c *checker) sinceAnchor(w window, t virtual.Time) string {
	if w.anchor < 0 {
		return ""
	}
	return ", " + value.Format(t.Sub(c.index.at(w.anchor)).Round(time.Millisecond)) + " later"
}

func versions(ranges []value.VersionRange) string {
	return strings.Join(printable.Words(ranges, value.VersionRange.String), ", ")
}
