// Package html makes of runs one page that needs nothing besides itself: a picture of each run that can be
// zoomed, with what happened, why, the events and the expectations. It loads nothing and runs no script but its own,
// whatever the names and messages in the traces are.
package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"

	"probesim.dev/report"
	"probesim.dev/trace"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the page's script, in their order.
var scripts = []string{"scale.js", "draw.js", "details.js", "chart.js", "input.js", "page.js"}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"time": trace.FormatTime, "clean": trace.Clean, "plural": plural,
}).ParseFS(assets, "assets/*.gohtml"))

// Section writes the part of a page about one run, which Page.Add takes as its Output.
func Section(w io.Writer, run *report.Run) error {
	s := newSection(run)
	return templates.ExecuteTemplate(w, "section.gohtml", s)
}

// most is how many bytes of sections a page has, and mostFailed with those of runs that did not come out well.
const (
	most       = 16 << 20
	mostFailed = 2 * most
)

// Page is a page about several runs. The zero value is an empty one.
type Page struct{ size int }

// Add takes a run whose Output is its section. Where there is no room the run loses it, and is listed only.
func (p *Page) Add(run *report.Run) {
	room := most
	if run.Outcome() != report.OK {
		room = mostFailed
	}
	if p.size+len(run.Output) > room {
		run.Output = ""
		return
	}
	p.size += len(run.Output)
}

// Write writes the page about the cases whose runs were added. The same cases give the same bytes.
func (p *Page) Write(w io.Writer, cases []report.Case) error {
	style := asset("page.css")
	script := "(() => {\n'use strict';\n"
	for _, name := range scripts {
		script += asset(name)
	}
	script += "})();\n"
	doc := newDocument(cases)
	doc.Style, doc.Script = template.CSS(style), template.JS(script)
	doc.Policy = "default-src 'none'; img-src data:; style-src " + digest(style) + "; script-src " + digest(script)
	return templates.ExecuteTemplate(w, "page.gohtml", doc)
}

// asset returns a file of the page. Its comments are for those who read the source.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is in the program
	}
	return string(text)
}

// digest is how a content security policy names what is written between two tags.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func plural(n int, word string) string {
	switch n {
	case 0:
		return "no " + word + "s"
	case 1:
		return "1 " + word
	}
	return thousands(n) + " " + word + "s"
}
