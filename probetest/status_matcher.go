package probetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega/types"

	"probesim.dev/internal/gomegacall"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

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
