// Package html writes the result of a search for probe settings as a self-contained page. For each
// container it has the changes and the margins of the requirements.
//
// Names and messages from manifests cannot inject markup or scripts, and the page loads nothing.
package html

import (
	"embed"
	"html/template"
	"io"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/tune"
	"probesim.dev/internal/printable"
	pages "probesim.dev/internal/show/html"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"clean": printable.Text, "lines": printable.Lines, "down": check.FormatDown,
}).ParseFS(assets, "assets/*.gohtml"))

// document is the data of the page for the template.
type document struct {
	pages.Head
	Report     *tune.Report
	Comparison string
}

// Write writes the page. The comparison of the check before and after, as text, may be empty. The
// same report gives the same bytes.
func Write(w io.Writer, r *tune.Report, comparison string) error {
	d := &document{Report: r, Comparison: comparison}
	d.Head = pages.NewHead(title(r), pages.Asset(assets, "tune.css"), "")
	return templates.ExecuteTemplate(w, "tune.gohtml", d)
}

func title(r *tune.Report) string {
	switch {
	case r.Problems():
		return "A workload could not be tuned"
	case !r.Met():
		return "No setting meets all requirements"
	case !r.Changed():
		return "The requirements are met already"
	}
	return "Settings that meet the requirements"
}
