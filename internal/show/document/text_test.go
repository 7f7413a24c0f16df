package document

import (
	"strings"
	"testing"
)

// TestItem checks where the end of an item stands.
func TestItem(t *testing.T) {
	for _, test := range []struct{ mark, text, end, want string }{
		{"1.", "short", "a:1", "1. short                                     a:1\n"},
		{"1.", "a text that needs more than one of the lines here", "a:1",
			"1. a text that needs more than one of the lines\n   here                                      a:1\n"},
		{"1.", "a text that fills all of its first line", "a/file:1",
			"1. a text that fills all of its first line\n   a/file:1\n"},
		{"1.", "short", "a/file/whose/name/needs/a/part/of/the/margin:1",
			"1. short\n  a/file/whose/name/needs/a/part/of/the/margin:1\n"},
		{"head", "", "a:1", "head                                         a:1\n"},
		{"a head", "a text", "", "a head  a text\n"},
	} {
		var d Document
		d.Item(Item{Mark: test.mark, Text: test.text, Where: test.end})
		if got := asText(t, &d, Options{Width: 48}); got != test.want {
			t.Errorf("%q, %q, %q is\n%s\nwant\n%s", test.mark, test.text, test.end, got, test.want)
		}
	}
}

func TestTable(t *testing.T) {
	table := Table{Left: 1, Head: []string{"", "least", "most"}}
	table.Line(Bold, "pods")
	table.Row(Cell{Text: "  web\x1b[1m"}, Cell{Text: "1s"}, Cell{Text: "10.5s", Style: Bad})
	table.Row(Cell{Text: "  é"}, Cell{Text: "22m", Style: Warn})
	var d Document
	d.Table(&table)
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Margin: 1}, "               least   most\n pods\n   web\\x1b[1m     1s  10.5s\n   é             " +
			"22m\n"},
		{Options{Color: true}, "              \x1b[2mleast\x1b[0m   \x1b[2mmost\x1b[0m\n\x1b[1mpods\x1b[0m\n  " +
			"web\\x1b[1m     1s  \x1b[31m10.5s\x1b[0m\n  é             \x1b[33m22m\x1b[0m\n"},
		{Options{Width: 40, Margin: 20}, strings.Repeat(" ", 20) + "pods\n" + strings.Repeat(" ", 20) +
			"  web\\x1b[1m\n" + strings.Repeat(" ", 26) + "least 1s, most 10.5s\n" +
			strings.Repeat(" ", 20) + "  é\n" + strings.Repeat(" ", 26) + "least 22m\n"},
	} {
		if got := asText(t, &d, test.o); got != test.want {
			t.Errorf("%+v:\n%q, want\n%q", test.o, got, test.want)
		}
	}
}

// TestTextColumn checks that the last column of a table of texts wraps if there is room.
func TestTextColumn(t *testing.T) {
	table := Table{Left: 2}
	table.Texts("> 12.000s  web", "a message of a few words that goes on")
	var d Document
	d.Table(&table)
	for _, test := range []struct {
		margin int
		want   string
	}{
		{0, "> 12.000s  web  a message of a few words\n                that goes on\n"},
		{8, "        > 12.000s  web  a message of a\n          few words that goes on\n"},
	} {
		if got := asText(t, &d, Options{Width: 42, Margin: test.margin}); got != test.want {
			t.Errorf("with a margin of %d:\n%s\nwant\n%s", test.margin, got, test.want)
		}
	}
}

// TestNested checks what is below the text of an item.
func TestNested(t *testing.T) {
	var d Document
	x := Item{Mark: "FAIL", Text: "a requirement", Command: "probesim run --flag", Body: &Body{}}
	x.Body.Item(Item{Mark: "at", Text: "a:1"})
	d.Item(x)
	want := "FAIL  a requirement\n  probesim run --flag\n  at    a:1\n"
	if got := asText(t, &d, Options{}); got != want {
		t.Errorf("got\n%s", got)
	}
	var b strings.Builder
	if err := d.Write(&b, "markdown", Options{}); err != nil {
		t.Fatal(err)
	}
	want = "- **FAIL** a requirement\n\n  ```sh\n  probesim run --flag\n  ```\n\n  - **at** a:1\n"
	if b.String() != want {
		t.Errorf("Markdown is\n%s", b.String())
	}
}

func asText(t *testing.T, d *Document, o Options) string {
	var b strings.Builder
	if err := d.Write(&b, "text", o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
