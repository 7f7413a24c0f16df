// Package findings lists what a command finds in files, for programs: as annotations of GitHub
// Actions, as SARIF for code scanning, and as a JUnit report. A command builds its [List] once.
package findings

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// List is what a command finds, and what it judges.
type List struct {
	Command string // such as probesim check
	Version string // of probesim
	Rules   []Rule
	Cases   []Case
}

// Append adds the cases of another list, and its rules with other IDs.
func (l *List) Append(other *List) {
	for _, rule := range other.Rules {
		if !slices.ContainsFunc(l.Rules, func(r Rule) bool { return r.ID == rule.ID }) {
			l.Rules = append(l.Rules, rule)
		}
	}
	l.Cases = append(l.Cases, other.Cases...)
}

// Address is the base address of the published site, with a slash at its end. It is empty until the
// site has one.
const Address = ""

// Rule is a kind of findings.
type Rule struct {
	ID   string
	Text string // what is wrong
	Help string // what to do
	Page string // where the site describes it, below its base address; or empty
	// Joined makes one annotation of all findings of the rule, because GitHub shows only few
	// annotations.
	Joined bool
}

// address returns the address of the page about a rule on the site with a base address, or nothing
// if there is none.
func (r *Rule) address(base string) string {
	if base == "" || r.Page == "" {
		return ""
	}
	return base + r.Page
}

// Case is something that is judged, such as a workload or a requirement. JUnit has a test case for
// it.
type Case struct {
	Name, File string
	Line       int
	Problem    string   // why it could not be judged
	Notes      []string // what else there is to say
	Findings   []Finding

	// What follows is for JUnit.

	Ended         bool   // the case is an error, not a failure
	Message, Text string // a line and a text about it; empty: those of its findings that fail
	Skipped       string // why nothing was judged
	Output        string
	Properties    []Property
}

// Property is a name with a value.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Finding is something that is wrong at a place.
type Finding struct {
	Rule         string // its ID
	Level        Level
	File         string
	Line, Column int
	Title        string // what it is about, for an annotation
	Message      string // may have several lines
	Command      string // shows it
	Fails        bool   // its test case fails
	Known        string // why it does not count, or empty. Only SARIF has such findings.
}

// Add adds a finding that is about the whole case.
func (c *Case) Add(rule string, level Level, message string, fails bool) {
	c.Findings = append(c.Findings,
		Finding{Rule: rule, Level: level, File: c.File, Line: c.Line, Title: c.Name, Message: message, Fails: fails})
}

// Unmet is the rule of the findings that Require adds.
var Unmet = Rule{ID: "requirement", Text: "A requirement is not met.",
	Help: "The value misses what --require or the annotation probesim.dev/require says."}

// Require adds the case of a requirement on something with a title. The finding counts unless the
// requirement is met.
func (l *List) Require(f Finding, requirement string, met bool) {
	c := Case{Name: f.Title + ": " + requirement, File: f.File, Line: f.Line}
	if !met {
		f.Rule, f.Level, f.Title, f.Fails = Unmet.ID, Error, f.Title+": a requirement is not met", true
		c.Findings = []Finding{f}
	}
	l.Cases = append(l.Cases, c)
}

// Formats are the formats of Write.
var Formats = []string{"github", "sarif", "junit"}

// Write writes the list in a format. The function path converts file names to paths relative to the
// root of the repository, for the formats that need them.
func (l *List) Write(w io.Writer, format string, path func(string) string) error {
	switch format {
	case "github":
		return l.writeGitHub(w, path)
	case "sarif":
		return l.writeSARIF(w, path)
	case "junit":
		return l.writeJUnit(w)
	}
	return fmt.Errorf("there is no format %q", format)
}

// text describes a finding, with its command on a line of its own.
func (f *Finding) text() string {
	text := fmt.Sprintf("%s %s (%s:%d): %s", f.Level, f.Rule, f.File, f.Line, strings.ReplaceAll(f.Message, "\n", "; "))
	if f.Command != "" {
		return printable.Text(text) + "\n" + printable.Text(f.Command)
	}
	return printable.Text(text)
}
