package probetest

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/printable"
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
	wanted := printable.Words(list, value.Format)
	m := newList("HaveBackedOffFor", "backed off", "for ", wanted)
	m.in = func(s *subject, from, to virtual.Time) ([]occurrence, error) {
		for _, b := range list {
			if b < time.Second || b > maxBackOff {
				return nil, fmt.Errorf("a back-off is from 1s to %s, and never %s", value.Format(maxBackOff), b)
			}
		}
		if err := s.requireOneContainer(); err != nil {
			return nil, err
		}
		return slices.DeleteFunc(s.backOffs(), func(b occurrence) bool { return b.t < from || b.t > to }), nil
	}
	m.same = func(i int, b occurrence, _ time.Duration) (bool, error) { return b.text == wanted[i], nil }
	m.got = func(all []occurrence) string {
		if len(all) == 0 {
			return "It never did"
		}
		return "It did for " + listOf(all, func(b occurrence) string { return b.text + " at " + trace.FormatTime(b.t) })
	}
	return m
}

// HaveBackedOffForMatcher is the type of HaveBackedOffFor.
type HaveBackedOffForMatcher = ListMatcher

// maxBackOff is the longest back-off of any configuration of the kubelet.
const maxBackOff = 5 * time.Minute

// backOffs returns the back-offs of a container. The kubelet records each of them in several syncs.
func (s *subject) backOffs() []occurrence {
	waiting := false
	var list []occurrence
	for _, i := range s.pod.indexes() {
		r := s.record(i)
		switch {
		case !s.about(r):
		case r.Kind == trace.ContainerStarted:
			waiting = false
		case r.Kind == trace.BackOff && !waiting:
			waiting = true
			list = append(list, occurrence{t: r.T, record: i, text: value.Format(r.Took)})
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
	wanted := printable.Words(statuses, func(s v1.ConditionStatus) string { return string(s) })
	m := newList("HaveConditionTransitions", "had", string(condition)+" ", wanted)
	m.in = func(s *subject, from, to virtual.Time) ([]occurrence, error) {
		isTrue := conditions[condition]
		switch {
		case s.container != "":
			return nil, errors.New("only pods have conditions: assert about the pod and not about a container")
		case isTrue == nil:
			return nil, fmt.Errorf("a trace does not contain the condition %q; it contains Initialized, "+
				"ContainersReady and Ready", condition)
		case len(wanted) == 0:
			return nil, errors.New("the expected statuses are missing: give v1.ConditionTrue or v1.ConditionFalse, " +
				"once or more")
		}
		for _, status := range statuses {
			if status != v1.ConditionTrue && status != v1.ConditionFalse {
				return nil, fmt.Errorf("the status of a condition is True or False, and never %q", status)
			}
		}
		all := s.changes(func(status *trace.PodStatus) (on, known bool) {
			return status != nil && isTrue(status), status != nil
		})
		return within(all, from, to), nil
	}
	m.same = func(i int, c occurrence, _ time.Duration) (bool, error) { return c.text == wanted[i], nil }
	m.got = func(all []occurrence) string {
		return "It was " + listOf(all, func(c occurrence) string { return c.text + " from " + trace.FormatTime(c.t) })
	}
	return m
}

// HaveConditionTransitionsMatcher is the type of HaveConditionTransitions.
type HaveConditionTransitionsMatcher = ListMatcher

// conditions are the conditions that a trace contains.
var conditions = map[v1.PodConditionType]func(*trace.PodStatus) bool{
	v1.PodInitialized:  func(s *trace.PodStatus) bool { return s.Initialized },
	v1.ContainersReady: func(s *trace.PodStatus) bool { return s.ContainersReady },
	v1.PodReady:        func(s *trace.PodStatus) bool { return s.Ready },
}

// ReadyInterval is a time during which a pod or container was Ready: from From until it was no
// longer Ready at To. Both count from the addition of the pod. Each is a time.Duration, compared to
// the millisecond, or a Gomega matcher of a time.Duration. A nil To means that it was still Ready
// at the end of the window or run; a nil From is an error.
type ReadyInterval struct{ From, To any }

// String returns the interval in words, such as "5.000s to 60.000s".
func (i ReadyInterval) String() string {
	if i.To == nil {
		return timeText(i.From) + " on"
	}
	return timeText(i.From) + " to " + timeText(i.To)
}

// HaveReadyIntervals succeeds if the pod or container was Ready during exactly these intervals. An
// interval that began before the window counts from the beginning of the window.
//
//	Expect(web).To(HaveReadyIntervals(
//		ReadyInterval{From: 5 * time.Second, To: BeNumerically("<", time.Minute)},
//		ReadyInterval{From: BeNumerically("~", 70*time.Second, time.Second)},
//	))
//	Expect(web).To(HaveReadyIntervals()) // never Ready
func HaveReadyIntervals(intervals ...ReadyInterval) *HaveReadyIntervalsMatcher {
	m := newList("HaveReadyIntervals", "been ready", "from ", printable.Words(intervals, ReadyInterval.String))
	var turns []any // the expected times of the changes
	for _, i := range intervals {
		if turns = append(turns, i.From); i.To != nil {
			turns = append(turns, i.To)
		}
	}
	m.length = len(turns)
	m.in = func(s *subject, from, to virtual.Time) ([]occurrence, error) {
		if err := possibleIntervals(intervals, s, m.window, from, to); err != nil {
			return nil, err
		}
		all := within(s.readyChanges(), from, to)
		if len(all) > 0 && all[0].text == isFalse {
			all = all[1:]
		} else if len(all) > 0 {
			all[0].t = max(all[0].t, from)
		}
		return all, nil
	}
	m.same = func(i int, _ occurrence, since time.Duration) (bool, error) { return matchesTime(turns[i], since) }
	m.got = func(all []occurrence) string {
		if len(all) == 0 {
			return "It never was"
		}
		var words []string
		for pair := range slices.Chunk(all, 2) {
			if text := trace.FormatTime(pair[0].t); len(pair) == 1 {
				words = append(words, text+" on")
			} else {
				words = append(words, text+" to "+trace.FormatTime(pair[1].t))
			}
		}
		return "It was from " + strings.Join(words, ", ")
	}
	return m
}

// HaveReadyIntervalsMatcher is the type of HaveReadyIntervals.
type HaveReadyIntervalsMatcher = ListMatcher

// possibleIntervals returns an error if no run can have the intervals.
func possibleIntervals(intervals []ReadyInterval, s *subject, w window, from, to virtual.Time) error {
	var last time.Duration // the end of the interval before
	for n, i := range intervals {
		for end, t := range []any{i.From, i.To} {
			if t == nil && end == 1 {
				continue
			}
			if err := possibleTime(s, t); err != nil {
				return fmt.Errorf("interval %d: %w", n+1, err)
			}
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
		if i.To == nil && n < len(intervals)-1 {
			return fmt.Errorf("interval %d has no end, and another one follows it", n+1)
		}
	}
	return nil
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

// The values of changes.
const isTrue, isFalse = string(v1.ConditionTrue), string(v1.ConditionFalse)

// changes returns the successive values of a condition, without repetitions. known reports whether
// a status, which may be nil, has the condition.
func (s *subject) changes(of func(*trace.PodStatus) (on, known bool)) []occurrence {
	var list []occurrence
	for _, st := range s.statuses() {
		on, known := of(st.status)
		st.text = isFalse
		if on {
			st.text = isTrue
		}
		if n := len(list); known && (n == 0 || list[n-1].text != st.text) {
			list = append(list, st.occurrence)
		}
	}
	return list
}

// readyChanges returns when the subject became ready and when it no longer was.
func (s *subject) readyChanges() []occurrence {
	return s.changes(func(status *trace.PodStatus) (on, known bool) { return s.ready(status), true })
}

// within returns the changes in a window. The first is the last one before it.
func within(all []occurrence, from, to virtual.Time) []occurrence {
	later := func(t virtual.Time) int {
		return sort.Search(len(all), func(i int) bool { return all[i].t > t })
	}
	return all[max(later(from)-1, 0):later(to)]
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
	return status != nil && slices.ContainsFunc(status.Containers, func(c trace.ContainerStatus) bool {
		return (s.container == "" || c.Name == s.container) && wanted(&c)
	})
}

// matchesTime compares a time since the addition of the pod with a time.Duration, to the
// millisecond, or with a matcher.
func matchesTime(expected any, t time.Duration) (bool, error) {
	return matches(expected, t,
		func(e time.Duration) bool { return t.Round(time.Millisecond) == e.Round(time.Millisecond) })
}

// possibleTime returns an error if a time is not a time of the run. A time counts from the addition
// of the pod.
func possibleTime(s *subject, expected any) error {
	e, _ := expected.(time.Duration)
	switch reached := s.pod.log.end.Sub(s.added()); {
	case e < 0:
		return fmt.Errorf("the time %s is before the pod was added", value.Format(e))
	case e > reached:
		return fmt.Errorf("the time %s after the pod was added has not come: the run has only reached %s%s",
			value.Format(e), trace.FormatTime(s.pod.log.end), s.pod.node.more())
	}
	return possible[time.Duration]("a time", "a time.Duration", expected)
}

func timeText(expected any) string {
	return textOf(expected, func(e time.Duration) string { return trace.FormatTime(virtual.At(e)) })
}
