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
	return &HaveContainerStatusesMatcher{expected: statuses}
}

// HaveContainerStatusesMatcher is the type of HaveContainerStatuses. The zero value has no
// statuses, which is an error.
type HaveContainerStatusesMatcher struct {
	settled
	expected []trace.ContainerStatus
	at       *time.Duration // since the pod was added; nil: now
	got      []trace.ContainerStatus
	found    finding
}

// At selects the moment that the matcher examines, which counts from the addition of the pod. The
// matcher sees the last status of that instant.
func (m *HaveContainerStatusesMatcher) At(t time.Duration) *HaveContainerStatusesMatcher {
	m.at = &t
	return m
}

// Match examines a *Pod, a *Container, or each element of a list of them. It implements
// gomega.OmegaMatcher, as FailureMessage and NegatedFailureMessage do.
func (m *HaveContainerStatusesMatcher) Match(actual any) (bool, error) {
	return matchedEach("HaveContainerStatuses", m, actual)
}

// FailureMessage returns the message of a failed To.
func (m *HaveContainerStatusesMatcher) FailureMessage(any) string {
	return m.found.message("to have the container statuses "+m.expectation(),
		// go-cmp uses them at random
		"The difference is (- expected, + actual):\n"+strings.ReplaceAll(cmp.Diff(m.expected, m.got), "\u00a0", " ")) +
		m.others
}

// NegatedFailureMessage returns the message of a failed NotTo.
func (m *HaveContainerStatusesMatcher) NegatedFailureMessage(any) string {
	return m.found.message("not to have the container statuses "+m.expectation(), "It has") + m.others
}

// GomegaString describes what the matcher expects, and what the last Match found.
func (m *HaveContainerStatusesMatcher) GomegaString() string { return described(m) }

func (m *HaveContainerStatusesMatcher) wording() string {
	text := "have the container statuses " + statusesOf(m.expected)
	if m.at != nil {
		text += " at " + value.Format(*m.at)
	}
	return text
}

func (m *HaveContainerStatusesMatcher) happened() string { return "It has " + statusesOf(m.got) }

func (m *HaveContainerStatusesMatcher) examined() *subject { return m.found.subject }

func (m *HaveContainerStatusesMatcher) match(actual any) (bool, error) {
	s, err := m.subjectOf(actual)
	if err == nil {
		err = m.possible(s)
	}
	if err == nil {
		err = m.find(s)
	}
	return err == nil && slices.Equal(m.got, m.expected), err
}

// possible returns an error if no statuses can match.
func (m *HaveContainerStatusesMatcher) possible(s *subject) error {
	if len(m.expected) == 0 {
		return errors.New("the expected container statuses are missing: give one for each container")
	}
	states := []string{"waiting", "running", "terminated"}
	seen := map[string]bool{}
	for _, status := range m.expected {
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

// find looks up the statuses at the moment that the matcher examines.
func (m *HaveContainerStatusesMatcher) find(s *subject) error {
	t := s.pod.log.end
	if m.at != nil {
		if err := possibleTime(s, *m.at); err != nil {
			return err
		}
		t = s.added().Add(*m.at)
	}
	m.got, m.found = nil, finding{subject: s, center: t}
	var status *trace.PodStatus
	for _, st := range s.statuses() {
		if st.t <= t {
			status, m.found.marks = st.status, []int{st.record}
		}
	}
	if status == nil {
		return fmt.Errorf("the API server does not have the pod %s at %s", s.pod, trace.FormatTime(t))
	}
	for _, c := range status.Containers {
		if s.container == "" || c.Name == s.container {
			m.got = append(m.got, c)
		}
	}
	return nil
}

func (m *HaveContainerStatusesMatcher) expectation() string {
	return statusesOf(m.expected) + " at " + trace.FormatTime(m.found.center)
}

func statusesOf(list []trace.ContainerStatus) string {
	return listOf(list, func(c trace.ContainerStatus) string { return "[" + c.String() + "]" })
}
