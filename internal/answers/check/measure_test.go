package check_test

import (
	"testing"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/value"
)

// TestReadyAgain checks the longest time until a container is ready again after a hang: there is
// none if a probe can stop the next start.
func TestReadyAgain(t *testing.T) {
	manifest := pod("startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 4}\nlivenessProbe: " +
		"{httpGet: {port: 80}}")
	for start, want := range map[time.Duration]string{10 * time.Second: "55.1s", 21 * time.Second: "never",
		26 * time.Second: "never"} {
		starts := value.Durations{Ordinary: &value.Interval{Min: start, Max: start}}
		r := checked(t, manifest, check.Options{Start: starts})
		for _, x := range r.Workloads[0].Containers[0].Times {
			if got := check.FormatTime(x.Worst); x.Row == check.Recover && got != want {
				t.Errorf("with a start of %v, a container that hangs is ready again after up to %s, want %s",
					start, got, want)
			}
		}
	}
}
