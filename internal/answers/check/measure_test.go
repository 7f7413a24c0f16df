package check_test

import (
	"testing"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/value"
)

// TestReadyAgain checks the time until a container is ready again after a hang: there is none if a
// probe stops the next start, and no worst one if the timing decides.
func TestReadyAgain(t *testing.T) {
	manifest := pod("startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 4}\nlivenessProbe: " +
		"{httpGet: {port: 80}}")
	for _, test := range []struct {
		start       time.Duration
		best, worst string
	}{
		{10 * time.Second, "45.1s", "55.1s"},
		{21 * time.Second, "55.1s", "never"},
		{26 * time.Second, "never", "never"},
	} {
		r := checked(t, manifest, check.Options{Start: value.Durations{Ordinary: &value.Interval{Min: test.start,
			Max: test.start}}})
		for _, x := range r.Workloads[0].Containers[0].Times {
			if best, worst := check.FormatTime(x.Best),
				check.FormatTime(x.Worst); x.Row == check.Recover && (best != test.best || worst != test.worst) {
				t.Errorf("with a start of %v, a container that hangs is ready again after %s to %s, want %s to %s",
					test.start, best, worst, test.best, test.worst)
			}
		}
	}
}
