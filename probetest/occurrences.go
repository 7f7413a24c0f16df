package probetest

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// occurrence is a moment of the run and the index of its record.
type occurrence struct {
	t      virtual.Time
	record int
	miss   string // how it differs from what a matcher counts; empty: it counts
}

// counted is the part of a matcher M that counts occurrences. It expects one or more in the whole
// run, unless the methods say otherwise.
type counted[M any] struct {
	windowed[M]
	in          func(*subject) ([]occurrence, error) // in the whole run, with near misses
	least, most *int                                 // nil: 1, any
}

// Times sets the exact number that the matcher expects. Times(0) expects none.
func (c *counted[M]) Times(n int) *M {
	c.least, c.most = &n, &n
	return c.whole
}

// AtLeast sets the minimum number that the matcher expects, 1 or more.
func (c *counted[M]) AtLeast(n int) *M {
	c.least, c.most = &n, nil
	return c.whole
}

// check reports whether the number of occurrences in the window is the expected one, and returns
// those in the window.
func (c *counted[M]) check(s *subject, all []occurrence) (ok bool, inside []occurrence, f *finding, err error) {
	from, to, err := c.span(s)
	switch {
	case err != nil:
		return false, nil, nil, err
	case c.least != nil && *c.least < 0:
		return false, nil, nil, fmt.Errorf("the expected number must not be negative, and it is %d", *c.least)
	case c.least != nil && *c.least == 0 && c.most == nil:
		return false, nil, nil, errors.New("AtLeast(0) holds for every run: use AtLeast(1), or Times(0) for none")
	}
	var before, after, misses []occurrence
	var marks []int
	for _, it := range all {
		if it.miss != "" {
			if it.t >= from && it.t <= to {
				misses = append(misses, it)
			}
			continue
		}
		marks = append(marks, it.record)
		switch {
		case it.t < from:
			before = append(before, it)
		case it.t > to:
			after = append(after, it)
		default:
			inside = append(inside, it)
		}
	}
	center := to
	switch {
	case len(inside) > 0:
		center = inside[0].t
	case len(after) > 0:
		center = after[0].t
	case len(before) > 0:
		center = before[len(before)-1].t
	case len(misses) > 0:
		center = misses[0].t
	}
	n, least := len(inside), *cmp.Or(c.least, new(1))
	ok = n >= least && (c.most == nil || n <= *c.most)
	got := happened(before, inside, after)
	if n < least {
		got += nearMisses(misses)
	}
	return ok, inside, s.finding(got, center, marks...), nil
}

func (c *counted[M]) examine(actual any) (bool, *finding, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, nil, err
	}
	all, err := c.in(s)
	if err != nil {
		return false, nil, err
	}
	ok, _, f, err := c.check(s, all)
	return ok, f, err
}

// expectation describes the expected number and the window.
func (c *counted[M]) expectation() string {
	if c.least == nil {
		return c.window.words()
	}
	text := fmt.Sprintf(" %d times", *c.least)
	if *c.least == 1 {
		text = " once"
	}
	if c.most == nil {
		text = " at least" + text
	}
	return text + c.window.words()
}

// CountMatcher examines how often something happened to a *Pod or a *Container.
type CountMatcher struct {
	counted[CountMatcher]
	words string // "restarted" in "to have restarted"
}

func newCount(name, words string, in func(*subject) ([]occurrence, error)) *CountMatcher {
	m := &CountMatcher{words: words}
	m.function, m.judge, m.whole, m.in = name, m, m, in
	return m
}

func (m *CountMatcher) expected(to string) string { return to + "have " + m.words + m.expectation() }

// happened lists the occurrences inside the window and outside of it.
func happened(before, inside, after []occurrence) string {
	text := "It did not"
	switch n := len(inside); {
	case n == 1:
		text = "It did once, at " + listTimes(inside)
	case n > 1:
		text = fmt.Sprintf("It did %d times, at %s", n, listTimes(inside))
	}
	if len(before) > 0 {
		text += "; earlier at " + listTimes(before)
	}
	if len(after) > 0 {
		text += "; later at " + listTimes(after)
	}
	return text
}

// nearMisses lists what almost counts, by how it differs.
func nearMisses(list []occurrence) string {
	var kinds []string
	times := map[string][]occurrence{}
	for _, it := range list {
		if times[it.miss] == nil {
			kinds = append(kinds, it.miss)
		}
		times[it.miss] = append(times[it.miss], it)
	}
	for i, miss := range kinds {
		kinds[i] = miss + " at " + listTimes(times[miss])
	}
	if len(kinds) > maxMisses {
		kinds = append(kinds[:maxMisses], fmt.Sprintf("and %d other kinds", len(kinds)-maxMisses))
	}
	if len(kinds) == 0 {
		return ""
	}
	return ". Near misses: " + strings.Join(kinds, "; ")
}

// maxMisses is the number of kinds of near misses that a message lists.
const maxMisses = 3

// maxTimes is the number of occurrences that a message lists.
const maxTimes = 6

func listTimes(list []occurrence) string {
	var words []string
	for i, it := range list {
		if i == maxTimes {
			words = append(words, fmt.Sprintf("and %d more", len(list)-maxTimes))
			break
		}
		words = append(words, trace.FormatTime(it.t))
	}
	return strings.Join(words, ", ")
}
