// Package long says whether tests run their large samples.
package long

import "os"

// Enabled reports whether the environment variable PROBESIM_LONG is set. Tests then run their large
// samples, as .ci/nightly does.
func Enabled() bool { return os.Getenv("PROBESIM_LONG") != "" }

// Sample returns small by default, and large with PROBESIM_LONG.
func Sample(small, large int) int {
	if Enabled() {
		return large
	}
	return small
}
