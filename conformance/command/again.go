package command

import "probesim.dev/conformance/compare"

// secondExplained is said of a run that the search did not follow, but another of the same scenario: the real kubelet's
// runs differ, and the simulator does at least what it did in one.
const secondExplained = "a second real run is explained"

// compareAgain says what comes of a second run of the real kubelet, after one that differs.
func compareAgain(first *compare.Outcome, run func() (*compare.Outcome, error)) string {
	switch again, err := run(); {
	case err != nil:
		return "a second real run failed: " + err.Error()
	case again.Equal():
		return secondExplained
	case again.Divergence.At == first.Divergence.At && again.Signature() == first.Signature():
		return "so does a second real run, in the same"
	default:
		return "so does a second real run, in something else"
	}
}
