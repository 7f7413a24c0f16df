package report

import (
	"runtime"
	"strings"
	"testing"
)

// TestWrapLongText wraps texts of 200,000 characters. The memory of all lines together must not
// grow with the square of the length: a scenario's description can have 4 MiB.
func TestWrapLongText(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 200_000), strings.Repeat("x ", 100_000),
		strings.Repeat("é", 200_000)} {
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

// TestLead checks that only the first sentence of a paragraph is bold, wherever its lines break.
func TestLead(t *testing.T) {
	for _, c := range []struct{ sentence, rest, want string }{
		{"It ended.", "", "<It ended.>\n"},
		{"It ended after a short time.", "Nothing listens on the port.",
			"<It ended after a short time.> Nothing\nlistens on the port.\n"},
		{"The container ended soon after its start, and not for a probe.", "Why?",
			"<The container ended soon after its start,>\n<and not for a probe.> Why?\n"},
		{strings.Repeat("x", 45), strings.Repeat("x", 50), "<" + strings.Repeat("x", 41) + ">\n<xxxx> " +
			strings.Repeat("x", 36) + "\n" + strings.Repeat("x", 14) + "\n"},
		{"a\nb\x1b[2J", "", "<a\\nb\\x1b[2J>\n"},
	} {
		w := &Writer{Options: Options{Width: 41, Color: true}}
		w.Lead(c.sentence, c.rest)
		if got := strings.NewReplacer("\x1b[1m", "<", "\x1b[0m", ">").Replace(w.String()); got != c.want {
			t.Errorf("%q and %q are written as\n%s\nwant\n%s", c.sentence, c.rest, got, c.want)
		}
	}
}
