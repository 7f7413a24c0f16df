package document_test

import (
	"io"
	"strings"
	"testing"

	"probesim.dev/internal/githubrunner"
	"probesim.dev/internal/show/document"
)

// sample is a document with every kind of block, whose texts contain a name.
func sample(name string) *document.Document {
	d := document.New("Title " + name)
	d.Facts, d.Headline = "Facts "+name, true
	d.Text(document.Warn, "A paragraph about "+name)
	d.Text(document.Plain, "")
	s := d.Section(document.Section{Title: "Section " + name, Facts: "v1.37", Badge: "1 error", Style: document.Bad})
	s.Lead("A sentence.", "More "+name)
	s.Label("Do:", "this "+name)
	s.Item(document.Item{Mark: "ok", Style: document.Good, Text: "first " + name, Where: "a.yaml:3"})
	s.Item(document.Item{Mark: "FAIL", Style: document.Bad, Text: "second", Notes: []string{"a note " + name},
		Command: "probesim run " + name})
	s.Code("diff", "- "+name+"\n+ new\n")
	table := document.Table{Left: 1, Head: []string{name, "", "always"}, Axis: []string{"0s", "10s"},
		Legend: []document.Bar{{Class: "always", Title: "always goes well"}}}
	table.Group("group " + name)
	table.Row(document.Cell{Text: "row " + name},
		document.Cell{Bars: []document.Bar{{Class: "always", To: .5}, {Class: "mean", From: .2, Title: name}}},
		document.Cell{Text: "5s", Style: document.Bad})
	s.Table(&table)
	folded := d.Section(document.Section{Title: "Folded " + name, Badge: "ok", Fold: true, Closed: true, Details: true})
	folded.Picture(document.Picture{
		Text: func(w io.Writer, _ document.Options) error {
			_, err := io.WriteString(w, "~~~ "+name+"\n")
			return err
		},
		Page: func(w io.Writer) error {
			_, err := io.WriteString(w, "<figure></figure>\n")
			return err
		},
	})
	folded.Command("probesim why " + name)
	return d
}

func written(t *testing.T, d *document.Document, format string, o document.Options) string {
	t.Helper()
	var b strings.Builder
	if err := d.Write(&b, format, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	const want = `Title web                              Facts web
A paragraph about web

Section web                                v1.37
A sentence. More web
  Do: this web
ok    first web                         a.yaml:3
FAIL  second
  a note web
  probesim run web
  - web
  + new

web      always
group web
row web      5s
`
	if got := written(t, sample("web"), "text",
		document.Options{Width: 48}); got != want+"\nMore: --details for all tables\n" {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
	const details = "\nFolded web\n~~~ web\n  probesim why web\n"
	if got := written(t, sample("web"), "table", document.Options{Width: 48, Details: true}); got != want+details {
		t.Errorf("with details, the text is\n%s\nwant\n%s", got, want+details)
	}
}

func TestMarkdown(t *testing.T) {
	want := strings.ReplaceAll(`## Title web

Facts web

A paragraph about web

### Section web

v1.37

**A sentence.** More web

**Do:** this web

- **ok** first web (a.yaml:3)
- **FAIL** second

  a note web

  '''sh
  probesim run web
  '''

'''diff
- web
+ new
'''

| web | always |
|---|--:|
| **group web** |  |
| row web | **5s** |

<details><summary>Folded web</summary>

'''text
~~~ web
'''

'''sh
probesim why web
'''

</details>
`, "'''", "```")
	if got := written(t, sample("web"), "markdown", document.Options{}); got != want {
		t.Errorf("the Markdown is\n%s\nwant\n%s", got, want)
	}
}

func TestPage(t *testing.T) {
	page := written(t, sample("web"), "html", document.Options{})
	for _, want := range []string{
		"<title>Title web</title>", "<h1>Title web</h1>", `<a href="#s2">Folded web</a>`, `<section id="s1">`,
		`<details id="s2"><summary>`,
		`<li class="good"><span class="badge good">ok</span> <span>first web</span> <span class="where">a.yaml:3</span></li>`,
		`<rect class="k-always" x="0%" width="50%"`, `<line class="k-mean" x1="20%"`, `<figure></figure>`,
		`<td class="number bad" data-label="always">5s`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Count(page, "</section>")+strings.Count(page, "</details>") != 2 {
		t.Error("a section has no end")
	}
}

// TestHostileNames checks that no text of a document is markup, controls a terminal, or is a
// command to a CI system.
func TestHostileNames(t *testing.T) {
	plain := written(t, sample("web"), "html", document.Options{})
	for _, evil := range []string{`</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`,
		`"><svg onload=alert(1)>`, "\x1b[31m\u2028",
		"\n::error::a", "##[error]a", "`a` [a](b) **c** | # @all", "\n```\n# a"} {
		for _, format := range document.Formats {
			got := written(t, sample(evil), format, document.Options{Details: true})
			if commands := githubrunner.Commands(got); len(commands) > 0 {
				t.Errorf("%s of %q has commands to a CI system: %q", format, evil, commands)
			}
			if strings.ContainsAny(got, "\x1b\u2028") {
				t.Errorf("%s of %q has control characters", format, evil)
			}
			for _, tag := range []string{"<script", "</script", "<img", "<svg", "<title"} {
				if format == "html" && strings.Count(got, tag) != strings.Count(plain, tag) {
					t.Errorf("%q: %d of %s, want %d", evil, strings.Count(got, tag), tag, strings.Count(plain, tag))
				}
			}
		}
	}
}

// TestNarrow checks that each row of a table that is too wide becomes a label with the other cells
// below it.
func TestNarrow(t *testing.T) {
	d := document.New("")
	table := document.Table{Left: 1, Head: []string{"", "least", "most"}}
	table.Texts(strings.Repeat("x", 30), "1s", "10.5s")
	d.Table(&table)
	if got, want := written(t, d, "text", document.Options{Width: 40}), strings.Repeat("x",
		30)+"\n      least 1s, most 10.5s\n"; got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

// TestLongCommand checks that a shell reads the lines of a command as one.
func TestLongCommand(t *testing.T) {
	d := document.New("")
	d.Item(document.Item{Mark: "show", Command: "probesim rollout boutique.yaml --workload frontend --seed 3"})
	const want = "show  probesim rollout boutique.yaml \\\n      --workload frontend --seed 3\n"
	if got := written(t, d, "text", document.Options{Width: 48}); got != want {
		t.Errorf("the command is\n%s\nwant\n%s", got, want)
	}
}
