package expect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace/match"
)

// Observation is what a run shows for an expectation with observed: true.
type Observation struct {
	Expect *format.Expect
	// Min and Max are the lowest and highest value over all pods and all matches of since: with
	// first, a time in nanoseconds, counted from since if the expectation has it; with within, a
	// number of matches. They are 0 for status and transitions.
	Min, Max int64
	// Values are the values of transitions in order, or of the fields of status. They must be the
	// same for all pods and all matches of since.
	Values []value.Scalar
	Err    error // the reason why the run has no usable values
}

// Observe returns what a run shows for the observed expectations of its scenario. Expectations that
// do not apply to the run are left out.
func Observe(plan *scenarios.Plan, run Run) ([]Observation, error) {
	c, err := newChecker(plan, run, newIndex(run.Records))
	if err != nil {
		return nil, err
	}
	var list []Observation
	for _, e := range c.scenario.Spec.Expect {
		if e.Observed && c.skip(e) == "" {
			list = append(list, c.observe(e))
		}
	}
	return list, nil
}

// observe observes all pods and containers that the expectation is about.
func (c *checker) observe(e *format.Expect) Observation {
	var all []Observation
	for _, one := range e.Each() {
		for _, key := range c.subjects(e) {
			seen, err := c.observePod(one, key)
			if err != nil {
				return Observation{Expect: e, Err: fmt.Errorf("%s: %w", strings.TrimPrefix(key, "default/"), err)}
			}
			all = append(all, seen...)
		}
	}
	o := all[0]
	o.Expect = e
	for _, seen := range all[1:] {
		o = Merge(o, seen)
	}
	return o
}

// observePod observes one pod in each window.
func (c *checker) observePod(e *format.Expect, key string) ([]Observation, error) {
	if e.First != nil && e.Since != nil {
		seen, err := c.firstSince(e, key)
		return []Observation{seen}, err
	}
	f := &failures{checker: c, expect: e}
	windows := c.windows(e, key, f)
	if len(windows) == 0 {
		return nil, errors.New(f.list[0].Got)
	}
	var all []Observation
	for _, w := range windows {
		seen, err := c.observeIn(e, key, w)
		if err != nil {
			return nil, err
		}
		all = append(all, seen)
	}
	return all, nil
}

// observeIn observes one pod in one window.
func (c *checker) observeIn(e *format.Expect, key string, w window) (o Observation, err error) {
	o.Expect = e
	switch {
	case e.Transitions != nil:
		for _, t := range turnsWithin(c.turns(key, e.Container, e.Transitions.Field), max(w.from, 0), w.to) {
			o.Values = append(o.Values, t.value)
		}
		if len(o.Values) == 0 {
			err = errors.New("no value of " + e.Transitions.Field)
		}
	case e.Status != nil:
		o.Values, err = c.statusAt(e, key, w.from)
	default:
		o.Min, err = c.timeOrCount(e, c.index.moments(e.Moment(), key), w)
		o.Max = o.Min
	}
	return o, err
}

// statusAt returns the values of the fields of an expectation at an instant.
func (c *checker) statusAt(e *format.Expect, key string, t virtual.Time) ([]value.Scalar, error) {
	var values []value.Scalar
	st := c.index.stateAt(key, t)
	for _, field := range e.Status {
		v, ok := st.lookup(e.Container, field.Name)
		if !ok {
			return nil, fmt.Errorf("no %s at %s", field.Name, value.Format(t.Offset()))
		}
		values = append(values, v)
	}
	return values, nil
}

// firstSince observes one pod from each match of since on. It ignores the window, which is the
// value that an update replaces. A match of since needs no result if the result could still come
// after the end of the run.
func (c *checker) firstSince(e *format.Expect, key string) (o Observation, err error) {
	o.Expect = e
	var without []virtual.Time
	found := false
	all := c.index.moments(e.Moment(), key)
	for _, record := range c.anchors(e.Since, key) {
		t, err := c.timeOrCount(e, all, window{anchor: record, first: firstAfter(e, record)})
		switch {
		case err != nil:
			without = append(without, c.index.at(record))
		case !found:
			o.Min, o.Max, found = t, t, true
		default:
			o.Min, o.Max = min(o.Min, t), max(o.Max, t)
		}
	}
	for _, t := range without {
		if found && t.Add(time.Duration(o.Max)) <= c.run.End {
			return o, fmt.Errorf("no match after %s", value.Format(t.Offset()))
		}
	}
	if !found {
		return o, errors.New("no match")
	}
	return o, nil
}

// timeOrCount returns the time of the first moment, or the number of moments.
func (c *checker) timeOrCount(e *format.Expect, all []int, w window) (int64, error) {
	if e.Window().Kind != format.First {
		return int64(len(c.inside(all, w))), nil
	}
	var from virtual.Time
	if w.anchor >= 0 {
		from = c.index.at(w.anchor)
	}
	all = w.since(all)
	if len(all) == 0 {
		return 0, errors.New("no match")
	}
	if t := c.index.at(all[0]).Sub(from); t >= 0 {
		return int64(t), nil
	}
	return 0, errors.New("the first match is before t=0")
}

// Merge combines the observations of two pods, windows, or runs of one version. Times and counts
// may differ; values may not.
func Merge(a, b Observation) Observation {
	switch {
	case a.Err != nil:
	case b.Err != nil:
		a.Err = b.Err
	case !slices.Equal(a.Values, b.Values):
		a.Err = fmt.Errorf("the values differ: %s and %s", a, b)
	default:
		a.Min, a.Max = min(a.Min, b.Min), max(a.Max, b.Max)
	}
	return a
}

// Equal reports whether two observations have the same times, counts and values.
func (o Observation) Equal(b Observation) bool {
	return o.Min == b.Min && o.Max == b.Max && slices.Equal(o.Values, b.Values)
}

// Holds reports whether the expectation already has exactly the observed values.
func (o Observation) Holds() bool {
	e := o.Expect
	switch {
	case e.Transitions != nil:
		return slices.EqualFunc(e.Transitions.Values, o.Values,
			func(m value.Match, v value.Scalar) bool { return m.String() == v.String() })
	case e.Status != nil:
		return slices.EqualFunc(e.Status, o.Values,
			func(f match.Field, v value.Scalar) bool { return f.Match.String() == v.String() })
	case e.First != nil:
		return int64(e.First.Min) == o.Min && int64(e.First.Max) == o.Max
	}
	return int64(e.Count.Min) == o.Min && int64(e.Count.Max) == o.Max
}

// String formats the observation as a scenario would: a time or a count, a range of them, or a list
// of values.
func (o Observation) String() string {
	switch {
	case o.Values != nil:
		return "[" + strings.Join(printable.Words(o.Values, value.Scalar.String), ", ") + "]"
	case o.Expect != nil && o.Expect.First != nil:
		return value.TimeRange{Min: time.Duration(o.Min), Max: time.Duration(o.Max)}.String()
	}
	return (&value.IntRange{Min: int(o.Min), Max: int(o.Max)}).String()
}
