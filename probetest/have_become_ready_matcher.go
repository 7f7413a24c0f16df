package probetest

// HaveBecomeReady succeeds if the pod, or the container, has become Ready: its status as the API server has it changed
// from not ready to ready.
//
//	Expect(web).To(HaveBecomeReady().Within(30 * time.Second))
//	Expect(web).To(HaveBecomeReady().Times(1).After(time.Minute))
func HaveBecomeReady() *HaveBecomeReadyMatcher {
	m := &HaveBecomeReadyMatcher{}
	m.matcher = m
	return m
}

// HaveBecomeReadyMatcher is what HaveBecomeReady returns; its methods narrow it down.
type HaveBecomeReadyMatcher struct {
	static
	Happens[HaveBecomeReadyMatcher]
}

func (m *HaveBecomeReadyMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, named("HaveBecomeReady", err)
	}
	var became []happening
	ready := false
	for _, st := range s.statuses() {
		if now := s.ready(st.status); now != ready {
			if ready = now; now {
				became = append(became, st.happening)
			}
		}
	}
	ok, err := m.look(s, became)
	return ok, named("HaveBecomeReady", err)
}

func (m *HaveBecomeReadyMatcher) FailureMessage(any) string { return m.message("to have become ready") }

func (m *HaveBecomeReadyMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have become ready")
}
