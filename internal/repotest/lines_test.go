package repotest

import (
	"strings"
	"testing"
)

// TestLines checks that code has at most 120 columns and comments have at most 100, with tabs of 4.
// Texts in raw strings, and drawings and examples in comments, are as long as they must be.
func TestLines(t *testing.T) {
	for _, s := range sources(t) {
		if strings.Contains(s.name, "/testdata/") {
			continue
		}
		inRaw, inOutput := false, false
		n := 0
		for line := range strings.Lines(read(t, s.name)) {
			n++
			raw := inRaw || strings.Contains(line, "`")
			inRaw = inRaw != (strings.Count(line, "`")%2 == 1)
			text := strings.TrimSpace(line)
			comment, isComment := strings.CutPrefix(text, "//")
			width := len([]rune(strings.TrimRight(line, "\n"))) + 3*strings.Count(line, "\t")
			inOutput = isComment && (inOutput || comment == " Output:") // of an example
			drawn := inOutput || strings.HasPrefix(comment, "\t") || strings.HasPrefix(comment, "  ")
			switch {
			case !isComment && !raw && width > 120, isComment && drawn && !s.test && width > 125:
				t.Errorf("%s:%d has %d columns; wrap it at 120", s.name, n, width)
			case isComment && !raw && !drawn && width > 100 && strings.Contains(strings.TrimSpace(comment), " "):
				t.Errorf("%s:%d is a comment of %d columns; wrap it at 100", s.name, n, width)
			}
		}
	}
}
