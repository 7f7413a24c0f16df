package repotest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	fence     = regexp.MustCompile("^\\s*(```+|~~~+)")
	delimiter = regexp.MustCompile(`^\|(\s*:?-+:?\s*\|)+$`)
	noPipe    = regexp.MustCompile(`^\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$`)
)

// TestTables checks that every table of the documents is displayed as one table: rows that a blank
// line separates from it, or that lack its second line, become a paragraph. A row with more cells
// than the header loses the last ones.
func TestTables(t *testing.T) {
	tables := 0
	walk(t, true, func(name string, text []byte) {
		if path.Ext(name) == ".md" {
			n, wrong := checkTables(string(text))
			tables += n
			for _, w := range wrong {
				t.Errorf("%s:%s", name, w)
			}
		}
	})
	if tables < 50 {
		t.Errorf("found %d tables; the documents have more: fix checkTables", tables)
	}
}

// checkTables returns the number of tables in a document, and what is wrong with them by the rules
// of GitHub Flavored Markdown (https://github.github.com/gfm/#tables-extension-). Each message
// begins with the number of the line.
func checkTables(document string) (tables int, wrong []string) {
	lines := strings.Split(document, "\n")
	open := "" // the fence of a code block
	for i := 0; i < len(lines); i++ {
		mark := fence.FindStringSubmatch(lines[i])
		switch {
		case open != "":
			if mark != nil && strings.HasPrefix(mark[1], open) {
				open = ""
			}
		case mark != nil:
			open = mark[1]
		case noPipe.MatchString(lines[i]):
			wrong = append(wrong, fmt.Sprintf("%d: begin each row of a table with |", i+1))
		case isRow(lines[i]):
			first := i
			for i+1 < len(lines) && isRow(lines[i+1]) {
				i++
			}
			tables++
			wrong = append(wrong, checkTable(lines, first, i)...)
		}
	}
	return tables, wrong
}

func isRow(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "|") }

// checkTable checks the table in lines[first] to lines[last].
func checkTable(lines []string, first, last int) (wrong []string) {
	report := func(i int, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%d: ", i+1)+fmt.Sprintf(format, args...))
	}
	if first > 0 && strings.TrimSpace(lines[first-1]) != "" {
		report(first, "leave a blank line before the table")
	}
	if last+1 < len(lines) && strings.TrimSpace(lines[last+1]) != "" {
		report(last, "leave a blank line after the table")
	}
	if first == last || !delimiter.MatchString(strings.TrimSpace(lines[first+1])) {
		report(first, "the table has no line of dashes after its header; does a blank line cut it from the rows above?")
		return wrong
	}
	if first+1 == last {
		report(first, "the table has no rows; does a blank line cut it from the rows below?")
	}
	columns := cells(lines[first])
	for i := first; i <= last; i++ {
		if n := cells(lines[i]); n < 0 {
			report(i, "end the row with |")
		} else if n != columns {
			report(i, "the row has %d cells, and the header has %d; write \\| for a pipe in a cell, also in code", n,
				columns)
		}
	}
	return wrong
}

// cells counts the cells of a row, or returns -1 if it does not end with a pipe. A pipe separates
// cells unless a backslash escapes it, even in a code span.
func cells(row string) int {
	row = strings.ReplaceAll(strings.TrimSpace(row), `\|`, "")
	if !strings.HasSuffix(row, "|") {
		return -1
	}
	return strings.Count(row, "|") - 1
}

func TestCheckTables(t *testing.T) {
	for document, want := range map[string]string{
		"x\n\n| a | b |\n|---|:-:|\n| 1 | `a\\|b` |\n\ny": "[]",
		"| a |\n|---|\n\n| 1 |\n": "[1: the table has no rows; does a blank line cut it from " +
			"the rows below? 4: the table has no line of dashes after its header; does a blank line cut it from the " +
			"rows above?]",
		"| a |\n|---|\n| 1 |\n\n| 2 |\n| 3 |\n": "[5: the table has no line of dashes after its header; " +
			"does a blank line cut it from the rows above?]",
		"x\n| a |\n|---|\n| 1 |\ny\n": "[2: leave a blank line before the table 4: leave a blank " +
			"line after the table]",
		"| a | b |\n|---|---|\n| `a|b` | c |\n": "[3: the row has 3 cells, and the header has 2; write \\| " +
			"for a pipe in a cell, also in code]",
		"| a | b |\n|---|\n| 1 | 2 |\n": "[2: the row has 1 cells, and the header has 2; write \\| " +
			"for a pipe in a cell, also in code]",
		"| a |\n|---|\n| 1\n":                      "[3: end the row with |]",
		"a | b\n--- | ---\n1 | 2\n":                "[2: begin each row of a table with |]",
		"```\n| a\n```\n~~~~\n|\n~~~\n| x\n~~~~\n": "[]",
		"- x\n\n  | a |\n  |---|\n  | 1 |\n":       "[]",
	} {
		if _, got := checkTables(document); fmt.Sprint(got) != want {
			t.Errorf("%q: got %v, want %s", document, got, want)
		}
	}
}
