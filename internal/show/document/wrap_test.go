package document

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
		lines := Wrap(text, 80, 40)
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
		{strings.Repeat("x", 45), strings.Repeat("x", 50),
			"<" + strings.Repeat("x", 41) + ">\n<xxxx> " + strings.Repeat("x", 36) + "\n" + strings.Repeat("x", 14) +
				"\n"},
		{"a\nb\x1b[2J", "", "<a\\nb\\x1b[2J>\n"},
	} {
		w := &textWriter{Options: Options{Width: 41, Color: true}}
		w.lead(c.sentence, c.rest)
		if got := strings.NewReplacer("\x1b[1m", "<", "\x1b[0m", ">").Replace(w.String()); got != c.want {
			t.Errorf("%q and %q are written as\n%s\nwant\n%s", c.sentence, c.rest, got, c.want)
		}
	}
}

// TestHanging checks where the end of an item stands.
func TestHanging(t *testing.T) {
	for _, test := range []struct{ mark, text, end, want string }{
		{"1. ", "short", "a:1", "1. short                                     a:1\n"},
		{"1. ", "a text that needs more than one of the lines here", "a:1",
			"1. a text that needs more than one of the lines\n   here                                      a:1\n"},
		{"1. ", "a text that fills all of its first line", "a/file:1",
			"1. a text that fills all of its first line\n   a/file:1\n"},
		{"1. ", "short", "a/file/whose/name/needs/a/part/of/the/margin:1",
			"1. short\n  a/file/whose/name/needs/a/part/of/the/margin:1\n"},
		{"", "head", "a:1", "head                                         a:1\n"},
		{"a head ", "a text", "", "a head a text\n"},
	} {
		w := &textWriter{Options: Options{Width: 48}}
		w.hanging(test.mark, test.text, test.end, Plain, Plain)
		if w.String() != test.want {
			t.Errorf("%q, %q, %q is\n%s\nwant\n%s", test.mark, test.text, test.end, w.String(), test.want)
		}
	}
}
