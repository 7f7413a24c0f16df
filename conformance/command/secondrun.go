package command

import "probesim.dev/conformance/compare"

// secondExplained is the note for a run that differs when a second run of the same scenario is
// explained. Runs of the real kubelet vary, and the simulator explains at least one of the two.
const secondExplained = "a second real run is explained"

// compareSecondRun compares a second run of the real kubelet after one that differs, and describes
// its result.
func compareSecondRun(first *compare.Outcome, run func() (*compare.Outcome, error)) string {
	switch again, err := run(); {
	case err != nil:
		return "a second real run failed: " + err.Error()
	case again.Equal():
		return secondExplained
	case again.Divergence.At == first.Divergence.At && again.Signature() == first.Signature():
		return "a second real run differs in the same way"
	default:
		return "a second real run differs in another way"
	}
}
