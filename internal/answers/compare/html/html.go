// Package html writes a comparison of probe settings as a self-contained page. For each container
// it draws the limits and the times before and after the change on one axis.
//
// Names and messages from manifests cannot inject markup or scripts, and the page loads nothing.
package html

import (
	"embed"
	"html/template"
	"io"

	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/printable"
	pages "probesim.dev/internal/show/html"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").
	Funcs(template.FuncMap{"clean": printable.Text, "lines": printable.Lines}).ParseFS(assets, "assets/*.gohtml"))

// Write writes the page. The same report gives the same bytes.
func Write(w io.Writer, r *compare.Report) error {
	d := newDocument(r)
	d.Head = pages.NewHead(title(r), pages.Asset(assets, "compare.css"), "")
	return templates.ExecuteTemplate(w, "compare.gohtml", d)
}
