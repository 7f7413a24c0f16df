package compare

import (
	"errors"
	"testing"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/scenarios"
)

// TestStepClock: where the wall clock jumps each record of the real kubelet is explained too, by a program that was built
// for it, of one run or else the next. Another does not make the run.
func TestStepClock(t *testing.T) {
	all, err := scenarios.Load("testdata/stepclock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !realkubelet.ClockSteps {
		if _, err := Plan(t, all[0].Plan(release.Version, nil), Options{}); !errors.Is(err, realkubelet.ErrStepClock) {
			t.Errorf("compared without clocks that can be stepped: %v", err)
		}
		return
	}
	for _, s := range all {
		if first := wrong(t, s, nil); first != nil {
			if again := wrong(t, s, nil); again != nil {
				t.Errorf("%s: twice, of which last: %v", s.Metadata.Name, again)
			}
		}
	}
}
