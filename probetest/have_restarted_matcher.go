package probetest

import "probesim.dev/trace"

// HaveRestarted succeeds if the container has been started again, as the kubelet counts restarts: when the next instance
// starts. Of a pod it looks at all containers.
//
//	Expect(web.Container("app")).To(HaveRestarted().Times(2).Between(40*time.Second, 2*time.Minute))
func HaveRestarted() *HaveRestartedMatcher {
	m := &HaveRestartedMatcher{}
	m.matcher = m
	return m
}

// HaveRestartedMatcher is what HaveRestarted returns; its methods narrow it down.
type HaveRestartedMatcher struct {
	static
	Happens[HaveRestartedMatcher]
}

func (m *HaveRestartedMatcher) Match(actual any) (bool, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, named("HaveRestarted", err)
	}
	ok, err := m.look(s, s.records(func(r *trace.Record) bool { return r.Kind == trace.ContainerStarted && r.Instance > 0 }))
	return ok, named("HaveRestarted", err)
}

func (m *HaveRestartedMatcher) FailureMessage(any) string { return m.message("to have restarted") }

func (m *HaveRestartedMatcher) NegatedFailureMessage(any) string {
	return m.message("not to have restarted")
}
