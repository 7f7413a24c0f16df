package probetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/trace"
)

// HaveContainerStatuses succeeds if the statuses of the containers, as the API server has them, are these: init
// containers first, in the order of the spec. Of a container it looks at that one only. It looks at the present moment,
// unless At says otherwise.
//
//	Expect(web).To(HaveContainerStatuses(
//		trace.ContainerStatus{Name: "app", State: "running", Started: true, Ready: true, RestartCount: 1},
//	).At(85 * time.Second))
func HaveContainerStatuses(statuses ...trace.ContainerStatus) *HaveContainerStatusesMatcher {
	return &HaveContainerStatusesMatcher{expected: statuses}
}

// HaveContainerStatusesMatcher is what HaveContainerStatuses returns.
type HaveContainerStatusesMatcher struct {
	static
	expected []trace.ContainerStatus
	at       *time.Duration
	got      []trace.ContainerStatus
	found    finding
}

// At has the matcher look at how things were at a virtual time since t=0, after everything of that instant.
func (m *HaveContainerStatusesMatcher) At(t time.Duration) *HaveContainerStatusesMatcher {
	m.at = &t
	return m
}

func (m *HaveContainerStatusesMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err == nil {
		err = m.look(s)
	}
	if err != nil {
		return false, named("HaveContainerStatuses", err)
	}
	return slices.Equal(m.got, m.expected), nil
}

func (m *HaveContainerStatusesMatcher) look(s *subject) error {
	t := s.pod.log.end
	if m.at != nil {
		t = *m.at
	}
	if t > s.pod.log.end {
		return fmt.Errorf("the run has only come to %s: call Advance before", trace.FormatTime(s.pod.log.end))
	}
	if len(m.expected) == 0 {
		return errors.New("say the statuses of the containers")
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

func (m *HaveContainerStatusesMatcher) FailureMessage(any) string {
	return m.found.message("to have the container statuses "+m.expectation(),
		"The difference is (- expected, + actual):\n"+cmp.Diff(m.expected, m.got))
}

func (m *HaveContainerStatusesMatcher) NegatedFailureMessage(any) string {
	return m.found.message("not to have the container statuses "+m.expectation(), "It has")
}

func (m *HaveContainerStatusesMatcher) expectation() string {
	words := listOf(m.expected, func(c trace.ContainerStatus) string { return "[" + c.String() + "]" })
	return words + " at " + trace.FormatTime(m.found.center)
}
