package repotest

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// functionRow matches a row of the tables in kubelet/README.md that say where a function of the
// kubelet is: its last two cells are the function here and a link to its file.
var functionRow = regexp.MustCompile("^\\|.*\\| `([^`]+)` \\| \\[([^]]+)\\]\\(([^)]+)\\) \\|$")

// TestFunctionTable checks that each function named in the tables of kubelet/README.md exists in
// its file.
func TestFunctionTable(t *testing.T) {
	const file = "kubelet/README.md"
	_, after, begins := strings.Cut(read(t, file), "<!-- functions -->")
	tables, _, ends := strings.Cut(after, "<!-- end of functions -->")
	if !begins || !ends {
		t.Fatalf("%s lacks the comments around its tables of functions", file)
	}
	declared := map[string]map[string]bool{}
	for _, s := range sources(t) {
		declared[s.name] = map[string]bool{}
		for _, f := range functions(s.ast) {
			declared[s.name][qualified(f)] = true
		}
	}
	rows := 0
	for line := range strings.Lines(tables) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		rows++
		cells := functionRow.FindStringSubmatch(line)
		if cells == nil {
			t.Errorf("%s: this row does not end with a function and a link to its file:\n%s", file, line)
			continue
		}
		function, shown, linked := cells[1], cells[2], path.Join(path.Dir(file), cells[3])
		if shown != linked {
			t.Errorf("%s: the link %s leads to %s", file, shown, linked)
		}
		if !declared[linked][function] {
			t.Errorf("%s: %s has no function %s", file, linked, function)
		}
	}
	if rows < 50 {
		t.Errorf("%s has only %d rows of functions", file, rows)
	}
}
