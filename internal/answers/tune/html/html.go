// Package html writes the result of a search for probe settings as a self-contained page. For each
// container it has the changes, the margins of the requirements, and a plot of the settings that
// trade fast detection against wrong kills. A click on a setting of the plot shows its fields.
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

// Write writes the page. The comparison of the check before and after, as text, may be empty. The
// same report gives the same bytes.
func Write(w io.Writer, r *tune.Report, comparison string) error {
	d := newDocument(r, comparison)
	d.Head = pages.NewHead(d.Title, pages.Asset(assets, "tune.css"), pages.Asset(assets, "tune.js"))
	return templates.ExecuteTemplate(w, "tune.gohtml", d)
}
