package findings

import (
	"strings"
	"testing"
)

// TestAnnotateEscapes checks that names and messages can neither end a workflow command nor start
// another.
func TestAnnotateEscapes(t *testing.T) {
	var b strings.Builder
	Annotate(&b, Annotation{File: "a,b:c%.yaml", Line: 3, Column: 5, Title: "x\n::warning::y,z",
		Message: "100%: a,b\r\n::error::c"})
	want := "::error file=a%2Cb%3Ac%25.yaml,line=3,col=5,title=x\\n%3A%3Awarning%3A%3Ay%2Cz::100%25: " +
		"a,b\\r%0A\\x3a:error::c\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", b.String(), want)
	}
	b.Reset()
	Annotate(&b, Annotation{Message: "m"})
	if b.String() != "::error::m\n" {
		t.Errorf("got %s", b.String())
	}
}

// sample has a finding of each kind.
func sample() *List {
	return &List{Command: "probesim check", Version: "v1",
		Rules: []Rule{{ID: "r", Text: "A rule.", Help: "Do this."},
			{ID: "j", Text: "All of them.", Joined: true}}, Cases: []Case{
			{Name: "Pod web", File: "a.yaml", Line: 1, Notes: []string{"a note"}, Findings: []Finding{
				{Rule: "r", Level: Error, File: "a.yaml", Line: 3, Column: 5, Title: "Pod web: r", Message: "bad",
					Command: "probesim run a.yaml", Fails: true},
				{Rule: "r", Level: Warning, File: "a.yaml", Line: 4, Message: "known", Known: "in the baseline"},
				{Rule: "j", Level: Note, File: "a.yaml", Line: 1, Title: "web", Message: "first"},
			}},
			{Name: "Pod db", File: "b.yaml", Problem: "it is\ninvalid",
				Findings: []Finding{{Rule: "j", Level: Note, File: "/b.yaml", Title: "db", Message: "second"}}},
		}}
}

func TestWrite(t *testing.T) {
	for format, want := range map[string]string{
		"github": `::error file=sub/a.yaml,line=3,col=5,title=Pod web%3A r::bad%0Aprobesim run a.yaml
::notice file=sub/a.yaml,line=1,title=All of them.::web: first%0Adb: second
::error file=sub/b.yaml,title=Pod db was not judged::it is%0Ainvalid
`,
		"junit": `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="probesim check" tests="2" failures="1" errors="1">
  <testsuite name="a.yaml" tests="1" failures="1" errors="0">
    <testcase name="Pod web" classname="a.yaml" file="a.yaml" line="1">
      <failure message="error r (a.yaml:3): bad"><![CDATA[error r (a.yaml:3): bad
probesim run a.yaml]]></failure>
      <system-out><![CDATA[note j (a.yaml:1): first
a note]]></system-out>
    </testcase>
  </testsuite>
  <testsuite name="b.yaml" tests="1" failures="0" errors="1">
    <testcase name="Pod db" classname="b.yaml" file="b.yaml" line="0">
      <error message="not judged"><![CDATA[it is
invalid]]></error>
      <system-out><![CDATA[note j (/b.yaml:0): second]]></system-out>
    </testcase>
  </testsuite>
</testsuites>
`,
	} {
		var b strings.Builder
		if err := sample().Write(&b, format,
			func(file string) string { return "sub/" + strings.TrimPrefix(file, "/") }); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("%s is\n%s\nwant\n%s", format, b.String(), want)
		}
	}
}

func TestSARIF(t *testing.T) {
	var b strings.Builder
	if err := sample().Write(&b, "sarif", func(file string) string { return file }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ruleId": "r"`, `"level": "note"`, `"uri": "file:///b.yaml"`, `"startLine": 3`,
		`"justification": "in the baseline"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("SARIF does not have %s", want)
		}
	}
}

// TestAddress checks that a rule has an address only if the site has one.
func TestAddress(t *testing.T) {
	rule := Rule{ID: "no-probes", Page: "docs/findings.html#no-probes"}
	if got, want := rule.address("https://example.com/probesim/"),
		"https://example.com/probesim/docs/findings.html#no-probes"; got != want {
		t.Errorf("the address is %q, want %q", got, want)
	}
	if got := rule.address(""); got != "" {
		t.Errorf("without a site, the address is %q", got)
	}
	if got := (&Rule{ID: "expectation"}).address("https://example.com/"); got != "" {
		t.Errorf("without a page, the address is %q", got)
	}
}
