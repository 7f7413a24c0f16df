package plan

import (
	"slices"

	"probesim.dev/internal/scenarios/program"
	"probesim.dev/scenarios/format"
)

// NeedsDetails reports whether the scenario asks for fields of a status that a trace has only with
// details (trace.Recorder).
func (s *Scenario) NeedsDetails() bool {
	ofStep := func(step *format.Step) bool { return format.MomentInDetail(step.Since) }
	return slices.ContainsFunc(s.Spec.Expect, (*format.Expect).NeedsDetails) ||
		slices.ContainsFunc(s.Spec.Steps, ofStep) ||
		slices.ContainsFunc(s.Moments, func(m program.Moment) bool { return format.MomentInDetail(m.Moment) })
}
