package probetest

import "probesim.dev/trace"

// HaveBeenReadyBeforeStarted succeeds if the status of the container, or of one of the pod, was ready while it was not
// started, as it must never be with a startup probe:
//
//	Expect(web).NotTo(HaveBeenReadyBeforeStarted())
func HaveBeenReadyBeforeStarted() *HaveBeenReadyBeforeStartedMatcher {
	m := &HaveBeenReadyBeforeStartedMatcher{}
	m.matcher = m
	return m
}

// HaveBeenReadyBeforeStartedMatcher is what HaveBeenReadyBeforeStarted returns; its methods narrow it down.
type HaveBeenReadyBeforeStartedMatcher struct {
	static
	Happens[HaveBeenReadyBeforeStartedMatcher]
}

func (m *HaveBeenReadyBeforeStartedMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, named("HaveBeenReadyBeforeStarted", err)
	}
	var wrong []happening
	for _, st := range s.statuses() {
		if s.hasContainer(st.status, func(c *trace.ContainerStatus) bool { return c.Ready && !c.Started }) {
			wrong = append(wrong, st.happening)
		}
	}
	ok, err := m.look(s, wrong)
	return ok, named("HaveBeenReadyBeforeStarted", err)
}

func (m *HaveBeenReadyBeforeStartedMatcher) FailureMessage(any) string {
	return m.message("to have been ready before it was started")
}

func (m *HaveBeenReadyBeforeStartedMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have been ready before it was started")
}
