// Package html adds runs to pages. For each run there is a zoomable timeline, a list of changes
// with their causes, the events, and the expectations.
//
// Write the [Section] of each run to its Output, add the runs to a [Page], and call [Page.Write].
// Other documents take [Add] and [Timeline]. Names and messages in traces cannot inject markup or
// scripts, and the page loads nothing.
package html

import (
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
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
	var b document.Body
	Add(&b, run)
	return b.WritePart(w)
}

// maxRows is the maximum number of rows of a table. Longer tables omit rows in the middle.
const maxRows = 400

// Add adds a run to a page. The heading is up to the page. The script of the document has
// [ChartScript].
func Add(b *document.Body, run *report.Run) {
	c, notes := newChart(run, maxRecords)
	b.Text(document.Plain, report.Description(run.Description))
	if run.Err != nil {
		b.Code("broken", "ended early: "+run.Err.Error())
	}
	failed := report.FailedOf(run.Expectations)
	report.AddChecks(b, failed)
	report.AddNotes(b, slices.Concat(run.Notes, notes))
	b.Picture(figure(run, c))
	addStory(b, run)
	if held := len(run.Expectations) - len(failed); held > 0 {
		s := b.Section(document.Section{Title: "Expectations", Fold: true,
			Facts: fmt.Sprintf("%d of %d did not fail", held, len(run.Expectations))})
		report.AddChecks(&s.Body, slices.DeleteFunc(slices.Clone(run.Expectations),
			func(e report.Expectation) bool { return e.Outcome == report.Failed }))
	}
	if events := run.Events(); len(events) > 0 {
		s := b.Section(document.Section{Title: "Events", Facts: "as kubectl describe lists them", Fold: true})
		s.Table(report.EventTable(events, maxRows))
	}
}

// Timeline returns the zoomable timeline of a run.
func Timeline(run *report.Run) document.Picture {
	c, _ := newChart(run, maxRecords)
	return figure(run, c)
}

func figure(run *report.Run, c *chart) document.Picture {
	return document.Picture{Page: func(w io.Writer) error {
		data, err := json.Marshal(c) // has no < and no &
		if err != nil {
			return err
		}
		var text strings.Builder // for browsers without scripts
		report.Timeline(&text, run, document.Options{Width: 120})
		_, err = fmt.Fprintf(w, "<figure class=\"chart\" aria-label=\"Timeline\">\n"+
			"<noscript><pre>%s</pre></noscript>\n"+
			"<script type=\"application/json\" class=\"data\">%s</script>\n</figure>\n",
			html.EscapeString(text.String()), data)
		return err
	}}
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

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(text)
}
