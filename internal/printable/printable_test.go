package printable_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"probesim.dev/internal/githubrunner"
	"probesim.dev/internal/printable"
)

var _ = flag.Set("rapid.seed", "1")

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"Grüße, 世界 🙂 `a|b`":                "Grüße, 世界 🙂 `a|b`",
		"a\n\r\t\x00\x1b[31m\x7f":          `a\n\r\t\x00\x1b[31m\x7f`,
		"\u009b\u00a0\u00ad\u2028\u2029":   `\u009b\u00a0\u00ad\u2028\u2029`,
		"\u202e\u2066\u200b\u200d\ufeff":   `\u202e\u2066\u200b\u200d\ufeff`,
		"\u034f\ufe0f\u3164\u115f\u180b":   `\u034f\ufe0f\u3164\u115f\u180b`,
		"\U000e0001\U000e0100\ufffe\ue000": `\U000e0001\U000e0100\ufffe\ue000`,
		"\xff\xc3(\xe2\x80":                `\xff\xc3(\xe2\x80`,
		"�":                                "�",
		"##[error]a ##vso[b] ##teamcity[c": `#\x23[error]a #\x23vso[b] #\x23teamcity[c`,
		"## a heading, ###, ##":            "## a heading, ###, ##",
		"###[a]":                           `##\x23[a]`,
		"::error::a":                       "::error::a", // may be in the middle of a line
	} {
		if got := printable.Text(in); got != want {
			t.Errorf("%+q: got %s, want %s", in, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	for in, want := range map[string]string{
		"a ::b\n[::1]:80\n":           "a ::b\n[::1]:80\n",
		"::error::a\n \t::b::\n::::c": "\\x3a:error::a\n \t\\x3a:b::\n\\x3a:::c",
		"a\r\u2028::error::b\u00a0":   `a\r\u2028::error::b\u00a0`,
		"\u00a0::error::a":            `\u00a0::error::a`,
		"\x1b[31m::error::a\x1b[0m":   `\x1b[31m::error::a\x1b[0m`,
		"a ##[b]\n##[c]":              "a #\\x23[b]\n#\\x23[c]",
	} {
		if got := printable.Lines(in); got != want {
			t.Errorf("%+q: got %s, want %s", in, got, want)
		}
	}
}

// TestWriter checks that colors pass if they are on, and nothing else.
func TestWriter(t *testing.T) {
	for color, want := range map[bool]string{
		true:  "\x1b[31ma\x1b[0m\\x1b]0;b\\a\\x1b[2J\n\x1b[1m\\x3a:c::",
		false: "\\x1b[31ma\\x1b[0m\\x1b]0;b\\a\\x1b[2J\n\\x1b[1m::c::",
	} {
		var b bytes.Buffer
		text := "\x1b[31ma\x1b[0m\x1b]0;b\a\x1b[2J\n\x1b[1m::c::"
		if n, err := (&printable.Writer{To: &b, Color: color}).Write([]byte(text)); n != len(text) || err != nil {
			t.Error(n, err)
		}
		if b.String() != want {
			t.Errorf("with color %t: got %q, want %q", color, b.String(), want)
		}
	}
}

// hostile returns a generator of text with parts of commands and characters that must be escaped.
func hostile() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"::", ":", "#", "##", "[", "##[", "]", "error", "stop-commands", "x", " ", "\t",
		"\n", "\r", "\\", `"`, "<",
		"\x00", "\x1b", "\x1b[31m", "\x7f", "\u0085", "\u009b", "\u00a0", "\u00ad", "\u034f", "\u200b", "\u200d",
		"\u2003", "\u2028", "\u202e", "\u2066",
		"\ufe0f", "\ufeff", "\xff", "\xe2\x80", "é", "世", "🙂", "\U000e0020"})
	return rapid.Map(rapid.SliceOfN(part, 0, 12), func(parts []string) string { return strings.Join(parts, "") })
}

// check reports characters of output that people cannot see and commands in it.
func check(t *rapid.T, output, layout string) {
	for _, r := range output {
		if !unicode.IsPrint(r) && !strings.ContainsRune(layout, r) {
			t.Fatalf("%+q has %U", output, r)
		}
	}
	if found := githubrunner.Commands(output); len(found) > 0 {
		t.Fatalf("%+q has commands: %v", output, found)
	}
}

func TestTextIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := printable.Text(hostile().Draw(t, "text"))
		check(t, "x"+text, "")
		if again := printable.Text(text); again != text {
			t.Fatalf("%q becomes %q", text, again)
		}
	})
}

func TestLinesAreSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := printable.Lines(hostile().Draw(t, "text"))
		check(t, text, "\n\t")
		if again := printable.Lines(text); again != text {
			t.Fatalf("%q becomes %q", text, again)
		}
		var b bytes.Buffer
		fmt.Fprint(&printable.Writer{To: &b}, text)
		if b.String() != text {
			t.Fatalf("%q becomes %q", text, b.String())
		}
	})
}

// TestJSONKeepsValues checks that JSON changes no value.
func TestJSONKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var document bytes.Buffer
		e := json.NewEncoder(&document)
		e.SetEscapeHTML(rapid.Bool().Draw(t, "HTML"))
		e.SetIndent("", "\t")
		value := map[string]string{hostile().Draw(t, "key"): hostile().Draw(t, "value")}
		if err := e.Encode(value); err != nil {
			t.Fatal(err)
		}
		got := string(printable.JSON(nil, document.Bytes()))
		check(t, got, "\n\t")
		var before, after map[string]string
		if err := json.Unmarshal(document.Bytes(), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &after); err != nil || fmt.Sprint(before) != fmt.Sprint(after) {
			t.Fatalf("%v: %q becomes %q", err, before, after)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	line := []byte(strings.Repeat(
		`{"step":12,"t":30123456789,"kind":"ProbeExecuted","pod":"default/web","container":"app"}`, 3))
	var out []byte
	for b.Loop() {
		out = printable.JSON(out[:0], line)
	}
	b.SetBytes(int64(len(line)))
}
