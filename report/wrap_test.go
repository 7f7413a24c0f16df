package report

import (
	"runtime"
	"strings"
	"testing"
)

// TestWrapLongText wraps texts of 200,000 characters. The memory of all lines together must not grow with the square of the
// length: a scenario's description can have 4 MiB.
func TestWrapLongText(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 200_000), strings.Repeat("x ", 100_000), strings.Repeat("é", 200_000)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		lines := wrap(text, 80, 40)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 20<<20 {
			t.Errorf("%d bytes were allocated for %d lines", allocated, len(lines))
		}
		if strings.ReplaceAll(strings.Join(lines, ""), " ", "") != strings.ReplaceAll(text, " ", "") {
			t.Error("text got lost")
		}
	}
}
