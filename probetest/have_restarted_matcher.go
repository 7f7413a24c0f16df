package probetest

import "probesim.dev/trace"

// HaveRestarted succeeds if the container, or a container of the pod, restarted. A restart happens
// when the next instance of the container starts.
//
//	Expect(web.Container("app")).To(HaveRestarted().Times(2).Between(40*time.Second, 2*time.Minute))
func HaveRestarted() *HaveRestartedMatcher {
	return newCount("HaveRestarted", "restarted", func(s *subject) ([]occurrence, error) {
		return s.records(func(r *trace.Record) bool { return r.Kind == trace.ContainerStarted && r.Instance > 0 }), nil
	})
}

// HaveRestartedMatcher is the type of HaveRestarted.
type HaveRestartedMatcher = CountMatcher
