package probetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// statusAt is the status of a pod from a time on; nil if the API server has the pod no more.
type statusAt struct {
	happening
	status *trace.PodStatus
}

// statuses returns the statuses of the pod in order; of those of one instant the last.
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
		list = append(list, statusAt{happening{r.T, i}, state.Status(r.Pod)})
	}
	return list
}

// ready reports whether the pod, or the container, is ready in a status.
func (s *subject) ready(status *trace.PodStatus) bool {
	if s.container == "" {
		return status != nil && status.Ready
	}
	return s.hasContainer(status, func(c *trace.ContainerStatus) bool { return c.Ready })
}

// hasContainer reports whether a status has a container of the subject that is so.
func (s *subject) hasContainer(status *trace.PodStatus, is func(*trace.ContainerStatus) bool) bool {
	if status == nil {
		return false
	}
	for i := range status.Containers {
		if c := &status.Containers[i]; (s.container == "" || c.Name == s.container) && is(c) {
			return true
		}
	}
	return false
}

// matchesTime compares a virtual time with a time.Duration, to the millisecond, or with a matcher.
func matchesTime(expected any, t time.Duration) (bool, error) {
	switch e := expected.(type) {
	case time.Duration:
		return t.Round(time.Millisecond) == e.Round(time.Millisecond), nil
	case types.GomegaMatcher:
		return e.Match(t)
	case nil:
		return false, errors.New("a time is missing")
	}
	return false, fmt.Errorf("a time is a time.Duration or a matcher, not a %T", expected)
}

func timeText(expected any) string {
	if d, ok := expected.(time.Duration); ok {
		return trace.FormatTime(d)
	}
	return "a time that matches"
}

// listOf lists items in words.
func listOf[T any](items []T, word func(T) string) string {
	var words []string
	for _, it := range items {
		words = append(words, word(it))
	}
	return strings.Join(words, ", ")
}
