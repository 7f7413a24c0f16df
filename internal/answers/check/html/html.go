// Package html writes the report of a check as a self-contained page. For each container with
// probes it draws the limits and the times on one axis, and lists findings with their commands,
// requirements with their margins, and the formulas of the rows.
//
// Names and messages from manifests cannot inject markup or scripts, and the page loads nothing.
package html

import (
	"embed"
	"html/template"
	"io"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
	pages "probesim.dev/internal/show/html"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"clean": printable.Text, "lines": printable.Lines, "rowOf": func(r row, ticks []tick) any {
		return struct {
			Row   row
			Ticks []tick
		}{r, ticks}
	}, "cell": func(r row, i int) any {
		return struct{ Text, Link string }{r.Cells[i], r.Links[i]}
	},
}).ParseFS(assets, "assets/*.gohtml"))

// Write writes the page. The same report gives the same bytes.
func Write(w io.Writer, r *check.Report) error {
	d := newDocument(r)
	d.Head = pages.NewHead(d.Title, pages.Asset(assets, "check.css"), pages.Script(pages.Asset(assets, "check.js")))
	return templates.ExecuteTemplate(w, "check.gohtml", d)
}
