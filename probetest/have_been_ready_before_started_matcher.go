package probetest

import "probesim.dev/trace"

// HaveBeenReadyBeforeStarted succeeds if a status of the container, or of a container of the pod,
// was ready and not started. With a startup probe that must never happen:
//
//	Expect(web).NotTo(HaveBeenReadyBeforeStarted())
func HaveBeenReadyBeforeStarted() *HaveBeenReadyBeforeStartedMatcher {
	return &HaveBeenReadyBeforeStartedMatcher{}
}

// HaveBeenReadyBeforeStartedMatcher is the type of HaveBeenReadyBeforeStarted. It counts statuses.
type HaveBeenReadyBeforeStartedMatcher = CountMatcher[earlyReady]

type earlyReady struct{}

func (earlyReady) function() string { return "HaveBeenReadyBeforeStarted" }
func (earlyReady) words() string    { return "been ready before it was started" }

func (earlyReady) in(s *subject) (early []occurrence, err error) {
	for _, st := range s.statuses() {
		if s.hasContainer(st.status, func(c *trace.ContainerStatus) bool { return c.Ready && !c.Started }) {
			early = append(early, st.occurrence)
		}
	}
	return early, nil
}
