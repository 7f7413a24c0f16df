package probetest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"probesim.dev/internal/gomegacall"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/verdict"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
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

// possible returns an error if an expected value is neither a T nor a Gomega matcher. The error
// names the value and its type, as in "a time" and "a time.Duration".
func possible[T any](what, kind string, expected any) error {
	switch e := expected.(type) {
	case types.GomegaMatcher:
		if v := reflect.ValueOf(e); v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("the matcher of %s is nil", what)
		}
	case T:
	case nil:
		return fmt.Errorf("%s is missing: give %s or a matcher", what, kind)
	default:
		return fmt.Errorf("%s is %s or a matcher, not a value of type %T", what, kind, e)
	}
	return nil
}

// matches compares a value with an expected one, which is a T or a matcher.
func matches[T any](expected, actual any, equal func(T) bool) (bool, error) {
	if m, ok := expected.(types.GomegaMatcher); ok {
		return m.Match(actual)
	}
	e, ok := expected.(T)
	return ok && equal(e), nil
}

// textOf returns an expected value in words, which is a T or a matcher.
func textOf[T any](expected any, text func(T) string) string {
	switch e := expected.(type) {
	case T:
		return text(e)
	case types.GomegaMatcher:
		return gomegacall.Of(e)
	}
	return fmt.Sprintf("a %T", expected)
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
	verb   string // "backed off" in "to have backed off for 10s, 20s"
	list   string // "for 10s, 20s"; empty if nothing may happen
	length int    // of the list
	// in returns what happened in a window. The error is about a list that no run has.
	in func(s *subject, from, to virtual.Time) ([]occurrence, error)
	// same compares an item of the list with what happened, a time after the addition of the pod.
	same func(i int, it occurrence, since time.Duration) (bool, error)
	got  func([]occurrence) string // what happened, in words
}

func newList(name, verb, before string, items []string) *ListMatcher {
	m := &ListMatcher{verb: verb, length: len(items)}
	if len(items) > 0 {
		m.list = before + strings.Join(items, ", ")
	}
	m.function, m.judge, m.whole = name, m, m
	return m
}

func (m *ListMatcher) examine(actual any) (bool, *finding, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, nil, err
	}
	from, to, err := m.span(s)
	if err != nil {
		return false, nil, err
	}
	all, err := m.in(s, from, to)
	if err != nil {
		return false, nil, err
	}
	same, center := len(all) == m.length, to
	for i, it := range all {
		ok := i < m.length
		if ok {
			if ok, err = m.same(i, it, it.t.Sub(s.added())); err != nil {
				return false, nil, err
			}
		}
		if !ok {
			same, center = false, max(from, it.t)
			break
		}
	}
	return same, s.finding(m.got(all), center, recordsOf(all)...), nil
}

// expected has its own words for an empty list.
func (m *ListMatcher) expected(to string) string {
	if m.list == "" {
		to = map[string]string{"": "never ", "to ": "never to ", "not to ": "to "}[to]
	}
	return strings.TrimSuffix(to+"have "+m.verb+" "+m.list, " ") + m.window.words()
}

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
			s.pod.node.more())
	case w.until == nil && from >= to:
		return 0, 0, fmt.Errorf(tooEarly, "begins", value.Format(*w.from), trace.FormatTime(from),
			trace.FormatTime(end), s.pod.node.more())
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

// finding is what a matcher found in a run, or in a manifest.
type finding struct {
	about      fmt.Stringer // a pod, for example
	got        string       // a sentence without its period, or several lines
	short      string       // got in a line; empty: its first line
	difference string       // what the message of a failed To has in place of got, if not empty

	log         *log // nil: of a manifest
	near, drawn []int
	marks       []int        // indexes of the records that the result depends on
	center      virtual.Time // the message shows the run around this moment
}

// finding returns what a matcher found in the run of the subject.
func (s *subject) finding(got string, center virtual.Time, marks ...int) *finding {
	if added := s.added(); added > 0 { // the times in the text and in the timeline are virtual times of the node
		got += ". The pod was added at " + trace.FormatTime(added)
	}
	f := &finding{about: s, got: got, log: s.pod.log, center: center, marks: marks}
	for i := range s.pod.log.records {
		r := s.record(i)
		ofOther := r.Pod != "" && (r.Pod != s.pod.key || i < s.pod.from)
		if !ofOther && (r.Kind.Observable() || slices.Contains(marks, i)) {
			f.near = append(f.near, i)
		}
	}
	f.drawn = f.near
	return f
}

// finding returns what a matcher found about the object. The message shows the records of
// controllers and of some pods.
func (o *object) finding(got string, center virtual.Time, marks []int, pods ...string) *finding {
	f := &finding{about: o, got: got, log: o.log, center: center, marks: marks}
	for i := range o.log.records {
		r := &o.log.records[i]
		if !r.Kind.Observable() {
			continue
		}
		f.drawn = append(f.drawn, i)
		if r.Kind.Controlled() || slices.Contains(pods, r.Pod) || slices.Contains(marks, i) {
			f.near = append(f.near, i)
		}
	}
	return f
}

// message describes the expectation and the result, and shows the run around the moment.
func (f *finding) message(expected, got string) string {
	if !strings.Contains(got, "\n") {
		got += "."
	}
	head := fmt.Sprintf("Expected\n    %s\n%s.\n%s", f.about, expected, strings.TrimRight(got, "\n"))
	if f.log == nil {
		return head
	}
	return f.log.message(head+"\n", f.near, f.drawn, f.marks, f.center)
}

// line describes the result in a line.
func (f *finding) line() string {
	text, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(f.short, f.got)), "\n")
	text, _, _ = strings.Cut(text, ". The pod was added at ")
	return f.about.String() + ": " + strings.TrimSuffix(text, ":")
}

// A message shows this many records before the moment, and this many from the moment on.
const before, behind = 5, 4

// message returns the message of a failure. After the head it shows those of some records that are
// around a moment, with a mark at those that the result depends on, and the timeline of others. All
// are indexes of the log.
func (l *log) message(head string, records, drawn, marks []int, center virtual.Time) string {
	var b strings.Builder
	b.WriteString(head)
	if lines := l.around(records, marks, center); len(lines) > 0 {
		b.WriteString("\n")
		document.WriteText(&b, document.Options{Width: math.MaxInt, Margin: 2}, func(d *document.Body) {
			report.AddAround(d, lines)
		})
	}
	var shown []trace.Record
	for _, i := range drawn {
		shown = append(shown, l.records[i])
	}
	o := document.Options{Width: verdict.Width}
	run := &report.Run{Records: shown, Until: l.end}
	run.From, run.To = verdict.Around(center, l.end)
	b.WriteString("\n")
	report.Timeline(&b, run, o)
	b.WriteString("\n" + l.String())
	return printable.Lines(strings.TrimRight(b.String(), "\n"))
}

// around returns the records around a moment.
func (l *log) around(records, marks []int, moment virtual.Time) []report.Line {
	center := 0 // index in records of the first one that is not earlier than the moment
	for n, i := range records {
		if l.records[i].T < moment {
			center = n + 1
		}
	}
	for n, i := range records {
		if l.records[i].T == moment && slices.Contains(marks, i) {
			center = n
			break
		}
	}
	records = records[max(0, center-before):min(len(records), center+behind)]
	var lines []report.Line
	for _, i := range records {
		lines = append(lines, report.Line{Record: &l.records[i], Mark: slices.Contains(marks, i)})
	}
	return lines
}

// log is the trace of a run so far.
type log struct {
	kubernetes string
	seed       *int64
	command    string // repeats the run; empty if no command does
	notes      []string
	records    []trace.Record
	end        virtual.Time // the virtual time that the run has reached
}

// add keeps a record if matchers examine it. Back-offs are internal records: neither the status nor
// the events contain their length.
func (l *log) add(r *trace.Record) {
	if r.Kind.Observable() || r.Kind == trace.BackOff {
		l.records = append(l.records, *r)
	}
}

// note adds a note, unless there is one with the same text.
func (l *log) note(text string) {
	if text = printable.Lines(text); !slices.Contains(l.notes, text) {
		l.notes = append(l.notes, text)
	}
}

// String identifies the run.
func (l *log) String() string {
	text := "Kubernetes " + l.kubernetes
	if l.seed != nil {
		text += fmt.Sprintf(", seed %d", *l.seed)
	}
	text += ", run to " + trace.FormatTime(l.end)
	for _, note := range l.notes {
		text += "\nNote: " + note
	}
	if l.command != "" {
		text += "\n" + verdict.RunAgain(l.command)
	}
	return text
}

// listOf lists items, separated by commas.
func listOf[T any](items []T, word func(T) string) string {
	return strings.Join(printable.Words(items, word), ", ")
}
