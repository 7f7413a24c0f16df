package probetest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"probesim.dev/internal/printable"
)

// matcher is the part that all matchers have in common. Each embeds it.
type matcher struct {
	function string // that returns the matcher
	judge    judge  // the whole matcher; nil: it was not made with its function
	polled   bool   // Eventually or Consistently makes the assertion
	last     *finding
	others   string // of the last Match of a list: a line about each element that the message is not about
}

// judge is what a matcher has of its own.
type judge interface {
	// examine compares the expectation with a run, or with a manifest. The error is about an
	// expectation that proves nothing.
	examine(actual any) (bool, *finding, error)
	// expected describes the expectation after a word, such as "to have restarted" after "to ", and
	// "have restarted" after nothing.
	expected(to string) string
}

// Match examines the actual value, or each element of a list of pods or containers. All must match.
// If only some of them do, that is an error, so that NotTo fails too: it expects that none matches.
// It implements gomega.OmegaMatcher, as FailureMessage and NegatedFailureMessage do.
func (m *matcher) Match(actual any) (bool, error) {
	if m.judge == nil {
		return false, errors.New("the matcher is empty: make one with its function, such as HaveRestarted")
	}
	polled := m.polled
	m.polled, m.others = false, ""
	if polled {
		return false, fmt.Errorf("%s: %w", m.function, errPolled)
	}
	elements, isList := elementsOf(actual)
	if len(elements) == 0 {
		return false, fmt.Errorf("%s: the list is empty: every assertion about it would hold", m.function)
	}
	found, ok, first := make([]*finding, len(elements)), make([]bool, len(elements)), 0
	matching := 0
	for i, element := range elements {
		var err error
		switch ok[i], found[i], err = m.judge.examine(element); {
		case err != nil && isList:
			return false, fmt.Errorf("%s: element %d of the list: %w", m.function, i, err)
		case err != nil:
			return false, fmt.Errorf("%s: %w", m.function, err)
		case ok[i]:
			matching++
		case ok[first]:
			first = i // the message is about the first element that does not match, or about the first
		}
	}
	m.last = found[first]
	var others strings.Builder
	for i := range found {
		if i != first {
			fmt.Fprintf(&others, "\n    %s", found[i].line())
		}
	}
	if others.Len() > 0 {
		m.others = "\n\nThe others:" + printable.Lines(others.String())
	}
	if matching > 0 && matching < len(found) {
		return false, fmt.Errorf("%s: %d of %d match. To expects that all do, NotTo that none does.\n\n%s",
			m.function, matching, len(found), m.FailureMessage(actual))
	}
	return ok[0], nil
}

// FailureMessage returns the message of a failed To.
func (m *matcher) FailureMessage(any) string {
	if m.last != nil && m.last.difference != "" {
		return m.last.message(m.judge.expected("to "), m.last.difference) + m.others
	}
	return m.message("to ")
}

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *matcher) NegatedFailureMessage(any) string { return m.message("not to ") }

func (m *matcher) message(to string) string {
	switch {
	case m.judge == nil:
		return "the matcher is empty"
	case m.last == nil:
		return m.judge.expected(to) + ": the matcher has not examined anything yet"
	}
	return m.last.message(m.judge.expected(to), m.last.got) + m.others
}

// GomegaString describes what the matcher expects, and what the last Match found. Gomega prints it
// in the messages of matchers such as HaveEach.
func (m *matcher) GomegaString() string {
	switch {
	case m.judge == nil:
		return "<empty matcher>"
	case m.last == nil:
		return m.judge.expected("")
	}
	return printable.Lines(m.judge.expected("") + "; the last one examined is " + m.last.line())
}

// String returns GomegaString in parentheses, for the messages of Or, which lists its matchers in
// one line.
func (m *matcher) String() string { return "(" + m.GomegaString() + ")" }

// MatchMayChangeInTheFuture reports false. Gomega calls it only for Eventually and Consistently,
// before Match.
func (m *matcher) MatchMayChangeInTheFuture(any) bool {
	m.polled = true
	return false
}

// errPolled refuses Eventually and Consistently, which let only real time pass.
var errPolled = errors.New("real time changes neither a run nor a manifest, " +
	"so Eventually and Consistently have nothing to wait for: use Expect, after Advance if there is a node")

// elementsOf returns the elements of a list of pods or containers, or else the value itself.
func elementsOf(actual any) (elements []any, isList bool) {
	switch actual.(type) {
	case []*Pod, []Pod, []*Container, []Container:
	default:
		return []any{actual}, false
	}
	list := reflect.ValueOf(actual)
	for i := range list.Len() {
		elements = append(elements, list.Index(i).Interface())
	}
	return elements, true
}

func isNilMatcher(m types.GomegaMatcher) bool {
	v := reflect.ValueOf(m)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// windowed is the part of a matcher M that examines a part of a run.
type windowed[M any] struct {
	matcher
	window
	whole *M
}

// Within limits the matcher to the time from the addition of the pod until d later.
func (w *windowed[M]) Within(d time.Duration) *M {
	w.window = window{until: &d}
	return w.whole
}

// Between limits the matcher to the time between two moments, both inclusive, that count from the
// addition of the pod.
func (w *windowed[M]) Between(from, until time.Duration) *M {
	w.window = window{from: &from, until: &until}
	return w.whole
}

// After limits the matcher to the time from d after the addition of the pod until now.
func (w *windowed[M]) After(d time.Duration) *M {
	w.window = window{from: &d}
	return w.whole
}

// ListMatcher examines whether exactly some things happened to a *Pod or a *Container, in order.
type ListMatcher struct {
	windowed[ListMatcher]
	verb string // "backed off" in "to have backed off for 10s, 20s"
	list string // "for 10s, 20s"; empty if nothing may happen
	// compare compares the list with the run of a subject in a window.
	compare func(*subject, window) (bool, *finding, error)
}

func newList(name, verb, list string, compare func(*subject, window) (bool, *finding, error)) *ListMatcher {
	m := &ListMatcher{verb: verb, list: list, compare: compare}
	m.function, m.judge, m.whole = name, m, m
	return m
}

func (m *ListMatcher) examine(actual any) (bool, *finding, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, nil, err
	}
	return m.compare(s, m.window)
}

// expected has its own words for an empty list.
func (m *ListMatcher) expected(to string) string {
	if m.list == "" {
		to = map[string]string{"": "never ", "to ": "never to ", "not to ": "to "}[to]
	}
	return strings.TrimSuffix(to+"have "+m.verb+" "+m.list, " ") + m.window.words()
}
