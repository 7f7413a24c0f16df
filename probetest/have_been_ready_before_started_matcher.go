package probetest

import "probesim.dev/trace"

// HaveBeenReadyBeforeStarted succeeds if a status of the container, or of a container of the pod,
// was ready and not started. With a startup probe that must never happen:
//
//	Expect(web).NotTo(HaveBeenReadyBeforeStarted())
func HaveBeenReadyBeforeStarted() *HaveBeenReadyBeforeStartedMatcher {
	early := func(c *trace.ContainerStatus) bool { return c.Ready && !c.Started }
	const words = "been ready before it was started"
	return newCount("HaveBeenReadyBeforeStarted", words, func(s *subject) (found []occurrence, err error) {
		for _, st := range s.statuses() {
			if s.hasContainer(st.status, early) {
				found = append(found, st.occurrence)
			}
		}
		return found, nil
	})
}

// HaveBeenReadyBeforeStartedMatcher is the type of HaveBeenReadyBeforeStarted. It counts statuses.
type HaveBeenReadyBeforeStartedMatcher = CountMatcher
