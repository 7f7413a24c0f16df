package probetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
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
