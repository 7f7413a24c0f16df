package probetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// occurrences is the common part of the matchers that count: the window, the expected number, and
// what the last Match found. The zero value expects one occurrence or more in the whole run.
type occurrences struct {
	window
	least, most *int // nil: 1, any

	subject               *subject // of the last Match
	before, inside, after []occurrence
}

// occurrence is a moment of the run and the index of its record.
type occurrence struct {
	t      virtual.Time
	record int
}

func (o *occurrences) setTimes(n int) { o.least, o.most = &n, &n }

func (o *occurrences) setAtLeast(n int) { o.least, o.most = &n, nil }

// counted is the part of a matcher M, which has more methods, that counts.
type counted[M any] struct {
	occurrences
	matcher *M
}

// Times sets the exact number that the matcher expects. Times(0) expects none.
func (c *counted[M]) Times(n int) *M {
	c.setTimes(n)
	return c.matcher
}

// AtLeast sets the minimum number that the matcher expects, 1 or more.
func (c *counted[M]) AtLeast(n int) *M {
	c.setAtLeast(n)
	return c.matcher
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (c *counted[M]) Within(d time.Duration) *M {
	c.setWithin(d)
	return c.matcher
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the
// addition of the pod.
func (c *counted[M]) Between(from, until time.Duration) *M {
	c.setBetween(from, until)
	return c.matcher
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (c *counted[M]) After(d time.Duration) *M {
	c.setAfter(d)
	return c.matcher
}

// check sorts the occurrences of a subject into the window and reports whether their number is the
// expected one.
func (o *occurrences) check(s *subject, all []occurrence) (bool, error) {
	from, to, err := o.span(s)
	switch {
	case err != nil:
		return false, err
	case o.least != nil && *o.least < 0:
		return false, fmt.Errorf("the expected number must not be negative, and it is %d", *o.least)
	case o.least != nil && *o.least == 0 && o.most == nil:
		return false, errors.New("AtLeast(0) holds for every run: use AtLeast(1), or Times(0) for none")
	}
	o.subject, o.before, o.inside, o.after = s, nil, nil, nil
	for _, it := range all {
		switch {
		case it.t < from:
			o.before = append(o.before, it)
		case it.t > to:
			o.after = append(o.after, it)
		default:
			o.inside = append(o.inside, it)
		}
	}
	n := len(o.inside)
	least := 1
	if o.least != nil {
		least = *o.least
	}
	return n >= least && (o.most == nil || n <= *o.most), nil
}

// message describes the expectation, such as "to have restarted", and what happened.
func (o *occurrences) message(expected string) string {
	if o.subject == nil {
		return expected + ": the matcher has not examined anything yet"
	}
	f := finding{subject: o.subject}
	_, f.center, _ = o.span(o.subject)
	switch {
	case len(o.inside) > 0:
		f.center = o.inside[0].t
	case len(o.after) > 0:
		f.center = o.after[0].t
	case len(o.before) > 0:
		f.center = o.before[len(o.before)-1].t
	}
	for _, it := range slices.Concat(o.before, o.inside, o.after) {
		f.marks = append(f.marks, it.record)
	}
	return f.message(expected+o.expectation(), o.happened())
}

func (o *occurrences) examined() *subject { return o.subject }

// expectation describes the expected number and the window.
func (o *occurrences) expectation() string { return o.number() + o.window.words() }

// number describes the expected number of occurrences.
func (o *occurrences) number() string {
	if o.least == nil {
		return ""
	}
	text := fmt.Sprintf(" %d times", *o.least)
	if *o.least == 1 {
		text = " once"
	}
	if o.most == nil {
		text = " at least" + text
	}
	return text
}

// happened lists the occurrences inside the window and outside of it.
func (o *occurrences) happened() string {
	text := "It did not"
	switch n := len(o.inside); {
	case n == 1:
		text = "It did once, at " + listTimes(o.inside)
	case n > 1:
		text = fmt.Sprintf("It did %d times, at %s", n, listTimes(o.inside))
	}
	if len(o.before) > 0 {
		text += "; earlier at " + listTimes(o.before)
	}
	if len(o.after) > 0 {
		text += "; later at " + listTimes(o.after)
	}
	return text
}

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
