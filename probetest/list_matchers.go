package probetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega/types"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/gomegacall"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// HaveBackedOffFor succeeds if the crash-loop back-offs of the container are exactly these, in
// order. A back-off is the time from the end of an instance until the kubelet may start the next
// one. It counts at the time when the kubelet first refuses to start the container because of it. A
// pod stands for its only container; a pod with several is an error.
//
//	Expect(web).To(HaveBackedOffFor(10*time.Second, 20*time.Second, 40*time.Second))
//	Expect(web).To(HaveBackedOffFor(5 * time.Minute).Between(20*time.Minute, 25*time.Minute))
//	Expect(web).To(HaveBackedOffFor()) // no back-off
func HaveBackedOffFor(list ...time.Duration) *HaveBackedOffForMatcher {
	words := ""
	if len(list) > 0 {
		words = "for " + listOf(list, value.Format)
	}
	return newList("HaveBackedOffFor", "backed off", words, func(s *subject, w window) (bool, *finding, error) {
		return compareBackOffs(list, s, w)
	})
}

// HaveBackedOffForMatcher is the type of HaveBackedOffFor.
type HaveBackedOffForMatcher = ListMatcher

// maxBackOff is the longest back-off of any configuration of the kubelet.
const maxBackOff = 5 * time.Minute

// backOff is the back-off before one instance.
type backOff struct {
	occurrence
	length time.Duration
}

func compareBackOffs(expected []time.Duration, s *subject, w window) (bool, *finding, error) {
	if err := s.requireOneContainer(); err != nil {
		return false, nil, err
	}
	for _, b := range expected {
		if b < time.Second || b > maxBackOff {
			return false, nil, fmt.Errorf("a back-off is from 1s to %s, and never %s", value.Format(maxBackOff), b)
		}
	}
	from, to, err := w.span(s)
	if err != nil {
		return false, nil, err
	}
	all := slices.DeleteFunc(s.backOffs(), func(b backOff) bool { return b.t < from || b.t > to })
	same, center := true, to
	var marks []int
	for i, b := range all {
		if same && (i >= len(expected) || expected[i] != b.length) {
			same, center = false, b.t
		}
		marks = append(marks, b.record)
	}
	got := "It never did"
	if len(all) > 0 {
		got = "It did for " + listOf(all,
			func(b backOff) string { return value.Format(b.length) + " at " + trace.FormatTime(b.t) })
	}
	return same && len(all) == len(expected), s.finding(got, center, marks...), nil
}

// backOffs returns the back-offs of a container. The kubelet records each of them in several syncs.
func (s *subject) backOffs() []backOff {
	var list []backOff
	waiting := false
	for _, i := range s.pod.indexes() {
		r := s.record(i)
		switch {
		case !s.about(r):
		case r.Kind == trace.ContainerStarted:
			waiting = false
		case r.Kind == trace.BackOff && !waiting:
			waiting = true
			list = append(list, backOff{occurrence{t: r.T, record: i}, r.Took})
		}
	}
	return list
}

// HaveConditionTransitions succeeds if a condition of the pod had exactly these statuses in order,
// starting with the status at the beginning of the window. The condition is v1.PodInitialized,
// v1.ContainersReady or v1.PodReady; the statuses are v1.ConditionTrue and v1.ConditionFalse.
// Anything else is an error, and so is an assertion about a container.
//
//	Expect(web).To(HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue, v1.ConditionFalse))
func HaveConditionTransitions(condition v1.PodConditionType,
	statuses ...v1.ConditionStatus) *HaveConditionTransitionsMatcher {
	words := string(condition) + " " + listOf(statuses, func(s v1.ConditionStatus) string { return string(s) })
	return newList("HaveConditionTransitions", "had", words, transitions{condition, statuses}.compare)
}

// HaveConditionTransitionsMatcher is the type of HaveConditionTransitions.
type HaveConditionTransitionsMatcher = ListMatcher

type transitions struct {
	condition v1.PodConditionType
	statuses  []v1.ConditionStatus
}

func (expected transitions) compare(s *subject, w window) (bool, *finding, error) {
	if err := expected.possible(s); err != nil {
		return false, nil, err
	}
	from, to, err := w.span(s)
	if err != nil {
		return false, nil, err
	}
	var all []change
	var marks []int
	for _, c := range s.changes(expected.value) {
		if c.t > to {
			break
		}
		if c.t <= from { // only the last status before the window matters
			all, marks = nil, nil
		}
		all, marks = append(all, c), append(marks, c.record)
	}
	same, center := len(all) == len(expected.statuses), to
	for i, c := range all {
		if i >= len(expected.statuses) || expected.statuses[i] != statusOf(c) {
			same, center = false, max(from, c.t)
			break
		}
	}
	got := listOf(all, func(c change) string { return string(statusOf(c)) + " from " + trace.FormatTime(c.t) })
	return same, s.finding("It was "+got, center, marks...), nil
}

// possible returns an error if no run can match.
func (expected transitions) possible(s *subject) error {
	if s.container != "" {
		return errors.New("only pods have conditions: assert about the pod and not about a container")
	}
	if conditions[expected.condition] == nil {
		return fmt.Errorf("a trace does not contain the condition %q; it contains Initialized, ContainersReady and "+
			"Ready", expected.condition)
	}
	if len(expected.statuses) == 0 {
		return errors.New("the expected statuses are missing: give v1.ConditionTrue or v1.ConditionFalse, once or more")
	}
	for _, status := range expected.statuses {
		if status != v1.ConditionTrue && status != v1.ConditionFalse {
			return fmt.Errorf("the status of a condition is True or False, and never %q", status)
		}
	}
	return nil
}

// conditions are the conditions that a trace contains.
var conditions = map[v1.PodConditionType]func(*trace.PodStatus) bool{
	v1.PodInitialized:  func(s *trace.PodStatus) bool { return s.Initialized },
	v1.ContainersReady: func(s *trace.PodStatus) bool { return s.ContainersReady },
	v1.PodReady:        func(s *trace.PodStatus) bool { return s.Ready },
}

// value returns the value of the condition in a status.
func (expected transitions) value(status *trace.PodStatus) (on, known bool) {
	return status != nil && conditions[expected.condition](status), status != nil
}

func statusOf(c change) v1.ConditionStatus {
	if c.on {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}

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

// HaveContainerStatuses succeeds if the API server has exactly these container statuses: init
// containers first, in the order of the spec. For a container, it compares the status of that
// container only. It examines the current moment; At selects another.
//
//	Expect(web).To(HaveContainerStatuses(
//		trace.ContainerStatus{Name: "app", State: "running", Started: true, Ready: true, RestartCount: 1},
//	).At(85 * time.Second))
//
// A container that the pod does not have and a state other than waiting, running and terminated are
// errors, even with NotTo.
func HaveContainerStatuses(statuses ...trace.ContainerStatus) *HaveContainerStatusesMatcher {
	m := &HaveContainerStatusesMatcher{statuses: statuses}
	m.function, m.judge = "HaveContainerStatuses", m
	return m
}

// HaveContainerStatusesMatcher is the type of HaveContainerStatuses.
type HaveContainerStatusesMatcher struct {
	matcher
	statuses []trace.ContainerStatus
	at       *time.Duration // since the pod was added; nil: now
}

// At selects the moment that the matcher examines, which counts from the addition of the pod. The
// matcher sees the last status of that instant.
func (m *HaveContainerStatusesMatcher) At(t time.Duration) *HaveContainerStatusesMatcher {
	m.at = &t
	return m
}

func (m *HaveContainerStatusesMatcher) expected(to string) string {
	text := to + "have the container statuses " + statusesOf(m.statuses)
	switch {
	case m.last != nil && to != "":
		text += " at " + trace.FormatTime(m.last.center)
	case m.at != nil:
		text += " at " + value.Format(*m.at)
	}
	return text
}

func (m *HaveContainerStatusesMatcher) examine(actual any) (bool, *finding, error) {
	s, err := subjectOf(actual)
	if err == nil {
		err = m.possible(s)
	}
	if err != nil {
		return false, nil, err
	}
	t := s.pod.log.end
	if m.at != nil {
		if err := possibleTime(s, *m.at); err != nil {
			return false, nil, err
		}
		t = s.added().Add(*m.at)
	}
	var status *trace.PodStatus
	var mark int
	for _, st := range s.statuses() {
		if st.t <= t {
			status, mark = st.status, st.record
		}
	}
	if status == nil {
		return false, nil, fmt.Errorf("the API server does not have the pod %s at %s", s.pod, trace.FormatTime(t))
	}
	var got []trace.ContainerStatus
	for _, c := range status.Containers {
		if s.container == "" || c.Name == s.container {
			got = append(got, c)
		}
	}
	found := s.finding("It has "+statusesOf(got), t, mark)
	found.difference = "The difference is (- expected, + actual):\n" +
		strings.ReplaceAll(cmp.Diff(m.statuses, got), "\u00a0", " ") // go-cmp uses them at random
	return slices.Equal(got, m.statuses), found, nil
}

// possible returns an error if no statuses can match.
func (m *HaveContainerStatusesMatcher) possible(s *subject) error {
	if len(m.statuses) == 0 {
		return errors.New("the expected container statuses are missing: give one for each container")
	}
	states := []string{"waiting", "running", "terminated"}
	seen := map[string]bool{}
	for _, status := range m.statuses {
		switch names := s.pod.containers(); {
		case !slices.Contains(names, status.Name):
			return s.pod.requireContainer(status.Name)
		case seen[status.Name]:
			return fmt.Errorf("the container %s has two expected statuses", status.Name)
		case s.container != "" && status.Name != s.container:
			return fmt.Errorf("the assertion is about the container %s, and the status about %s", s.container,
				status.Name)
		case !slices.Contains(states, status.State):
			return fmt.Errorf("the state of a container is waiting, running or terminated, and never %q%s",
				status.State, strict.DidYouMean(status.State, states))
		}
		seen[status.Name] = true
	}
	return nil
}

func statusesOf(list []trace.ContainerStatus) string {
	return listOf(list, func(c trace.ContainerStatus) string { return "[" + c.String() + "]" })
}

// statusAt is the status of a pod from a moment on; nil if the API server has removed the pod.
type statusAt struct {
	occurrence
	status *trace.PodStatus
}

// statuses returns the statuses of the pod in order. Of several statuses at one instant, it returns
// the last.
func (s *subject) statuses() []statusAt {
	var state match.State
	var list []statusAt
	for _, i := range s.pod.indexes() {
		r := s.record(i)
		switch r.Kind {
		case trace.PodAdded, trace.StatusPatched, trace.PodRemoved:
		default:
			continue
		}
		state.Apply(r)
		if n := len(list); n > 0 && list[n-1].t == r.T {
			list = list[:n-1]
		}
		list = append(list, statusAt{occurrence{t: r.T, record: i}, state.Status(r.Pod)})
	}
	return list
}

// change is the value of a condition from a moment on.
type change struct {
	occurrence
	on bool
}

// changes returns the successive values of a condition, without repetitions. known reports whether
// a status, which may be nil, has the condition.
func (s *subject) changes(of func(*trace.PodStatus) (on, known bool)) []change {
	var list []change
	for _, st := range s.statuses() {
		on, known := of(st.status)
		if n := len(list); known && (n == 0 || list[n-1].on != on) {
			list = append(list, change{st.occurrence, on})
		}
	}
	return list
}

// readyChanges returns when the subject became ready and when it no longer was.
func (s *subject) readyChanges() []change {
	return s.changes(func(status *trace.PodStatus) (on, known bool) { return s.ready(status), true })
}

func (s *subject) ready(status *trace.PodStatus) bool {
	if s.container == "" {
		return status != nil && status.Ready
	}
	return s.hasContainer(status, func(c *trace.ContainerStatus) bool { return c.Ready })
}

// hasContainer reports whether a status contains a container of the subject that satisfies a
// predicate.
func (s *subject) hasContainer(status *trace.PodStatus, wanted func(*trace.ContainerStatus) bool) bool {
	if status == nil {
		return false
	}
	for i := range status.Containers {
		if c := &status.Containers[i]; (s.container == "" || c.Name == s.container) && wanted(c) {
			return true
		}
	}
	return false
}

// matchesTime compares a time since the addition of the pod with a time.Duration, to the
// millisecond, or with a matcher.
func matchesTime(expected any, t time.Duration) (bool, error) {
	if m, ok := expected.(types.GomegaMatcher); ok {
		return m.Match(t)
	}
	e, ok := expected.(time.Duration)
	return ok && t.Round(time.Millisecond) == e.Round(time.Millisecond), nil
}

// possibleTime returns an error if a time is not a time of the run. A time counts from the addition
// of the pod.
func possibleTime(s *subject, expected any) error {
	switch e := expected.(type) {
	case types.GomegaMatcher:
		if isNilMatcher(e) {
			return errors.New("the matcher of a time is nil")
		}
		return nil
	case nil:
		return errors.New("a time is missing: give a time.Duration or a matcher")
	case time.Duration:
		reached := s.pod.log.end.Sub(s.added())
		switch {
		case e < 0:
			return fmt.Errorf("the time %s is before the pod was added", value.Format(e))
		case e > reached:
			return fmt.Errorf("the time %s after the pod was added has not come: the run has only reached %s%s",
				value.Format(e), trace.FormatTime(s.pod.log.end), s.pod.node.more())
		}
		return nil
	default:
		return fmt.Errorf("a time is a time.Duration or a matcher, not a value of type %T", e)
	}
}

func timeText(expected any) string {
	switch e := expected.(type) {
	case time.Duration:
		return trace.FormatTime(virtual.At(e))
	case types.GomegaMatcher:
		return gomegacall.Of(e)
	}
	return fmt.Sprintf("a %T", expected)
}

// listOf lists items, separated by commas.
func listOf[T any](items []T, word func(T) string) string {
	var words []string
	for _, it := range items {
		words = append(words, word(it))
	}
	return strings.Join(words, ", ")
}
