package probetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"probesim.dev/internal/gomegacall"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

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
				value.Format(e), trace.FormatTime(s.pod.log.end), s.pod.more())
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
