package scenarios

import (
	"slices"

	"probesim.dev/trace/match"
)

// NeedsDetails reports whether the scenario asks for fields of a status that a trace has only with details (trace.Recorder).
func (s *Scenario) NeedsDetails() bool {
	for _, e := range s.Spec.Expect {
		if e.NeedsDetails() {
			return true
		}
	}
	for _, step := range s.Spec.Steps {
		if momentInDetail(step.Since) {
			return true
		}
	}
	for _, m := range s.moments {
		if momentInDetail(m) {
			return true
		}
	}
	return false
}

// NeedsDetails reports whether the expectation asks for fields of a status that a trace has only with details.
func (e *Expect) NeedsDetails() bool {
	if inDetail(e.Status) || e.Transitions != nil && match.InDetail(e.Transitions.Field) {
		return true
	}
	for _, m := range append([]*match.Moment{e.Since, e.Moment()}, e.Order...) {
		if momentInDetail(m) {
			return true
		}
	}
	return false
}

func momentInDetail(m *match.Moment) bool { return m != nil && inDetail(m.Becomes) }

func inDetail(fields match.Fields) bool {
	for _, f := range fields {
		if match.InDetail(f.Name) {
			return true
		}
	}
	return false
}

// ChangesProbes reports whether a step changes probes of a pod that runs, which needs the feature gate MutableContainerProbes.
func (s *Scenario) ChangesProbes() bool {
	return slices.ContainsFunc(s.Spec.Steps, func(step *Step) bool { return step != nil && step.Patch != nil && step.Patch.changesProbes() })
}
