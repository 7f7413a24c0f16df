// Package html writes a comparison of probe settings as a self-contained page. For each container it draws the limits and the times before
// and after the change on one axis.
//
// Names and messages from manifests cannot inject markup or scripts, and the page loads nothing.
package html

import (
	"embed"
	"html/template"
	"io"

	"probesim.dev/check/compare"
	"probesim.dev/internal/printable"
	pages "probesim.dev/report/html"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"clean": printable.Text, "lines": printable.Lines}).ParseFS(assets, "assets/*.gohtml"))

// Write writes the page. The same report gives the same bytes.
func Write(w io.Writer, r *compare.Report) error {
	own, err := assets.ReadFile("assets/compare.css")
	if err != nil {
		return err
	}
	style := pages.Style() + string(own)
	d := newDocument(r)
	d.Style, d.Policy = template.CSS(style), pages.Policy(style, "")
	return templates.ExecuteTemplate(w, "compare.gohtml", d)
}
