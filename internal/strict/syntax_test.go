package strict

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Each run draws the same examples, unless -rapid.seed is set.
var _ = flag.Set("rapid.seed", "1")

// TestSyntaxErrorPlace breaks one line of a random document and expects the error in this line.
func TestSyntaxErrorPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := randomBlock(t, 0, 3)
		at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		indent := len(lines[at]) - len(strings.TrimLeft(lines[at], " "))
		mistake := rapid.SampledFrom([]string{"@", "`x`: y", "a: b: c", "*: x", "a: [b, }", "a: {b]", "a: \"\\q\"",
			"a: !<x", "a: x: y", "a: *no"}).Draw(t, "mistake")
		broken := append([]string{}, lines...)
		broken[at] = strings.Repeat(" ", indent) + mistake
		before := rapid.IntRange(0, 3).Draw(t, "documents before")
		text := strings.Repeat("a: b\n---\n", before) + strings.Join(broken, "\n") + "\n"
		var errs Collector
		docs, whole := Parse("f.yaml", []byte(text), &errs)
		if len(docs) != before || whole {
			t.Fatalf("%d documents were read from\n%s", len(docs), text)
		}
		var list Errors
		if !errors.As(errs.Err(), &list) || len(list) != 1 || list[0].Line != 2*before+at+1 {
			t.Fatalf("the error is %v for\n%s", errs.Err(), text)
		}
		if column := list[0].Column; column <= indent || column > len(broken[at])+1 {
			t.Fatalf("the error is in column %d of\n%s", column, text)
		}
	})
}

// randomBlock returns the lines of a mapping with this indentation.
func randomBlock(t *rapid.T, indent, depth int) []string {
	var lines []string
	for i := range rapid.IntRange(1, 4).Draw(t, "keys") {
		key := fmt.Sprintf("%sk%d:", strings.Repeat(" ", indent), i)
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		switch {
		case kind == 0 && depth > 0:
			lines = append(append(lines, key), randomBlock(t, indent+2, depth-1)...)
		case kind == 1:
			lines = append(lines, key+" [a, {b: c}]")
		case kind == 2:
			lines = append(lines, key+" 'it''s'")
		default:
			lines = append(lines, key+" text")
		}
	}
	return lines
}

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "0",
		"a\n":                           "0a\n",
		"a\n---\nb\n":                   "0a\n|1---\nb\n",
		"---\n---\n":                    "0---\n|1---\n",
		"# c\n\n--- a\r\n---\tb\n--- c": "0# c\n\n--- a\r\n|3---\tb\n|4--- c",
		"---a\n --- b\n":                "0---a\n --- b\n",
		"%YAML 1.1\n---\na\n":           "0%YAML 1.1\n---\na\n",
		"a\n...\n...\nb\n...":           "0a\n...\n|2...\nb\n...|5",
		"\xff\xfea\n---\n":              "0\xff\xfea\n---\n",
	} {
		var got []string
		for _, p := range split([]byte(text)) {
			got = append(got, fmt.Sprint(p.lines, string(p.text)))
		}
		if got := strings.ReplaceAll(strings.Join(got, "|"), " ", ""); got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%q is split %q", text, got)
		}
	}
}

// TestManySyntaxErrors parses files in which errors are expensive to locate.
func TestManySyntaxErrors(t *testing.T) {
	long := strings.Repeat("a: b\n", MaxFileSize/5-10)
	for name, text := range map[string]string{
		"documents":       strings.Repeat("---\na: [b, }\n"+strings.Repeat("# padding\n", 400), MaxDocuments),
		"a long document": long + "@\n",
		"a long line":     "a: " + strings.Repeat("x ", MaxFileSize/2-10) + ": y",
		"markers":         strings.Repeat("---\n", MaxFileSize/4),
		"ends":            strings.Repeat("...\n", MaxFileSize/4),
		"braces":          strings.Repeat(strings.Repeat("{", 9000)+"]\n---\n", 100),
		"brackets":        strings.Repeat("[\n", 5000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			var errs Collector
			_, whole := Parse("f.yaml", []byte(text), &errs)
			if whole && name != "ends" {
				t.Error("no error was reported")
			}
		})
	}
}
