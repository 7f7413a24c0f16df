package probetest

// HaveBecomeReady succeeds if the pod or container became Ready: its status at the API server
// changed from not ready to ready.
//
//	Expect(web).To(HaveBecomeReady().Within(30 * time.Second))
//	Expect(web).To(HaveBecomeReady().Times(1).After(time.Minute))
func HaveBecomeReady() *HaveBecomeReadyMatcher {
	return newCount("HaveBecomeReady", "become ready", func(s *subject) (became []occurrence, err error) {
		for _, c := range s.readyChanges() {
			if c.on {
				became = append(became, c.occurrence)
			}
		}
		return became, nil
	})
}

// HaveBecomeReadyMatcher is the type of HaveBecomeReady.
type HaveBecomeReadyMatcher = CountMatcher
