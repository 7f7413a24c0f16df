package compare

import (
	"errors"
	"testing"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/scenarios"
)

// TestStepClock checks, in a program built with the overlay, that the simulator explains each
// record of the real kubelet when the wall clock jumps, in the first run or in the second. Other
// programs must refuse these scenarios.
func TestStepClock(t *testing.T) {
	all, err := scenarios.Load("testdata/stepclock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !realkubelet.Overlay {
		if _, err := Plan(t, all[0].Plan(release.Version, nil), Options{}); !errors.Is(err, realkubelet.ErrStepClock) {
			t.Errorf("got %v, want ErrStepClock", err)
		}
		return
	}
	for _, s := range all {
		if first := runAndCheck(t, s, nil); first != nil {
			if again := runAndCheck(t, s, nil); again != nil {
				t.Errorf("%s: failed twice; the second time: %v", s.Metadata.Name, again)
			}
		}
	}
}
