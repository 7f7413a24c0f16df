// Package html writes a self-contained page about runs. For each run it has a zoomable timeline, a
// list of changes with their causes, the events, and the expectations.
//
// Write the [Section] of each run to its Output, add the runs to a [Page], and call [Page.Write].
// Names and messages in traces cannot inject markup or scripts, and the page loads nothing.
package html

import (
	"embed"
	"io"
	"strings"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the script of the page, in order.
var scripts = []string{"scale.js", "draw.js", "details.js", "chart.js", "input.js", "open.js"}

// Section writes the part of a page about one run, for the Output of the run.
func Section(w io.Writer, run *report.Run) error {
	return render(w, func(m *markup) { m.section(newSection(run)) })
}

// Timeline writes the zoomable timeline of a run for another page. Its script has [ChartScript].
func Timeline(w io.Writer, run *report.Run) error {
	return render(w, func(m *markup) { m.timeline(newSection(run)) })
}

// ChartScript returns the script of a document with timelines. It opens all of them.
func ChartScript() string { return charts(asset("charts.js")) }

func charts(own string) string {
	script := "(() => {\n'use strict';\nconst look = " + strings.TrimSpace(asset("look.json")) + ";\n"
	for _, name := range scripts {
		script += asset(name)
	}
	return script + own + "})();\n"
}

// maxSize limits the sections of a page, in bytes. Sections of unsuccessful runs may extend the
// page to maxSizeFailed.
const (
	maxSize       = 16 << 20
	maxSizeFailed = 2 * maxSize
)

// Page collects the runs of a page. The zero value is an empty page.
type Page struct {
	// Some says that runs without Output are missing by choice. The page then names the flag that
	// includes them.
	Some bool
	size int
}

// Add adds a run whose Output is its section. If the page is full, Add clears the Output, and the
// page only lists the run.
func (p *Page) Add(run *report.Run) {
	room := maxSize
	if run.Outcome() != report.OK {
		room = maxSizeFailed
	}
	if p.size+len(run.Output) > room {
		run.Output = ""
		return
	}
	p.size += len(run.Output)
}

// Write writes the page about cases, whose runs must have been added. The same cases give the same
// bytes.
func (p *Page) Write(w io.Writer, cases []report.Case) error {
	doc := newDocument(cases)
	doc.Chosen = p.Some
	script := charts(document.CopyScript + asset("page.js"))
	return document.WritePage(w, doc.Title, document.PageStyle, script, "", func(w io.Writer) error {
		return render(w, func(m *markup) { m.page(doc) })
	})
}

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(text)
}
