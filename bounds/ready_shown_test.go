package bounds_test

import (
	"testing"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
)

// For a container with a readiness probe alone and the numbers of published manifests, runs come close to both ends.
func TestReadyIsReached(t *testing.T) {
	typical, _ := fakeruntime.DelaySet("typical")
	for _, test := range []struct {
		version       string
		delay, period int32
		least, within time.Duration // the derived ends are at most this far from a run
	}{
		{"v1.34.4", 0, 5, 3 * time.Millisecond, 25 * time.Millisecond},
		{"v1.34.4", 15, 10, time.Millisecond, 25 * time.Millisecond},
		{"v1.35.4", 60, 10, time.Millisecond, 25 * time.Millisecond},
		{"v1.36.3", 0, 10, 3 * time.Millisecond, 25 * time.Millisecond},
		{"v1.37.0", 5, 10, time.Millisecond, 85 * time.Millisecond}, // the sync loop takes two events one by one, after its housekeeping
	} {
		readiness := probe(test.period, 1)
		readiness.InitialDelaySeconds = test.delay
		s := subject(t, test.version, nil, nil, readiness)
		b, err := s.UntilReady(bounds.Nodes{Delays: typical}, true)
		if err != nil {
			t.Fatal(err)
		}
		if off := b.LeastShown() - b.Least; off > test.least {
			t.Errorf("%s, delay %d, period %d: ready after at least %v, but the closest run has %v", test.version, test.delay, test.period, b.Least, b.LeastShown())
		}
		if off := b.Greatest - b.GreatestShown(); off > test.within {
			t.Errorf("%s, delay %d, period %d: ready after at most %v, but the closest run has %v", test.version, test.delay, test.period, b.Greatest, b.GreatestShown())
		}
		for _, end := range []bounds.Case{b.AtLeast, b.AtGreatest} {
			if _, err := s.Witnesses("ready", end); err != nil {
				t.Errorf("%s, delay %d, period %d: %v", test.version, test.delay, test.period, err)
			}
		}
	}
}
