package plan

import (
	"slices"

	"probesim.dev/scenarios/format"
)

// NeedsDetails reports whether the scenario asks for fields of a status that a trace has only with details (trace.Recorder).
func (s *Scenario) NeedsDetails() bool {
	for _, e := range s.Spec.Expect {
		if e.NeedsDetails() {
			return true
		}
	}
	for _, step := range s.Spec.Steps {
		if format.MomentInDetail(step.Since) {
			return true
		}
	}
	for _, m := range s.Moments {
		if format.MomentInDetail(m) {
			return true
		}
	}
	return false
}

// ChangesProbes reports whether a step changes probes of a pod that runs, which needs the feature gate MutableContainerProbes.
func (s *Scenario) ChangesProbes() bool {
	return slices.ContainsFunc(s.Spec.Steps, func(step *format.Step) bool { return step != nil && step.Patch != nil && step.Patch.ChangesProbes() })
}
