// Package html writes the report of rollouts as a self-contained page: the verdict of each
// Deployment, the picture of its worst run, what helps, and the race behind its greatest loss.
//
// Names and messages from manifests cannot inject markup or scripts, and the page loads nothing.
package html

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/render"
	"probesim.dev/internal/printable"
	pages "probesim.dev/internal/show/html"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/why"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").
	Funcs(template.FuncMap{"clean": printable.Text, "runs": render.Runs, "nodes": render.Nodes}).
	ParseFS(assets, "assets/*.gohtml"))

// document is the data of the page.
type document struct {
	pages.Head
	Report   *rollout.Report
	Sections []*section
	About    []string
	Waited   string
}

// section is a Deployment.
type section struct {
	*rollout.Workload
	ID       string
	Headline string
	Settings string
	Rows     []row
	Parts    []part
	Fixes    []fix
	Require  []requirement
	Missing  string // what is not simulated
	Caption  string // of the picture
	Picture  template.HTML
	Race     *why.Race
}

// row is a figure with its bar: percentages of the greatest of the values.
type row struct {
	Text                                  string
	Least, Median, P95, Greatest, Always  string
	From, Width, Middle, Reaches, AlwaysX float64
}

type part struct{ Count, Text string }

type fix struct {
	Word, Text, Where string
	LosesNone         bool
}

type requirement struct {
	Text string
	Met  bool
}

// Write writes the page. The report must have the worst runs. The same report gives the same bytes.
func Write(w io.Writer, r *rollout.Report) error {
	d := &document{Report: r, About: render.About(r), Waited: render.Waited(r)}
	var titles []string
	for i := range r.Workloads {
		s, err := newSection(r, &r.Workloads[i], i+1)
		if err != nil {
			return err
		}
		d.Sections, titles = append(d.Sections, s), append(titles, s.Title()+": "+s.Headline)
	}
	d.Head = newHead(titles)
	return templates.ExecuteTemplate(w, "rollout.gohtml", d)
}

// newHead returns the head of a page about Deployments with some titles.
func newHead(titles []string) pages.Head {
	title := fmt.Sprintf("Rollouts of %d Deployments", len(titles))
	if len(titles) == 1 {
		title = titles[0]
	}
	return pages.NewHead(printable.Text(title), pages.Asset(assets, "rollout.css"),
		pages.Script(pages.Asset(assets, "rollout.js")))
}

func newSection(r *rollout.Report, w *rollout.Workload, number int) (*section, error) {
	s := &section{Workload: w, ID: fmt.Sprintf("d%d", number), Headline: render.Headline(r, w),
		Settings: render.Settings(r, w), Missing: strings.Join(w.NotSimulated, "; ")}
	for _, row := range render.Rows(w) {
		s.Rows = append(s.Rows, newRow(&row))
	}
	if w.Lost != nil {
		for i := range w.Lost.Parts {
			p := &w.Lost.Parts[i]
			s.Parts = append(s.Parts, part{rollout.Count(p.Count), render.Part(r, p)})
		}
	}
	for i := range w.Fixes {
		f := &w.Fixes[i]
		s.Fixes = append(s.Fixes, fix{render.FixWord(f), render.Fix(f), fmt.Sprintf("%s:%d", w.File, f.Line),
			f.LosesNone})
	}
	for i := range w.Requirements {
		v := &w.Requirements[i]
		s.Require = append(s.Require, requirement{render.Requirement(v), v.Met})
	}
	if w.Worst.Run != nil {
		s.Caption = fmt.Sprintf("The worst of %s: %s.", render.Runs(w.Runs), render.Outcome(w.Worst.Run))
		return s, s.draw(render.Drawn(w.Worst.Run, r.Kubernetes))
	}
	return s, nil
}

// draw adds the picture of a run, and the race of its greatest loss.
func (s *section) draw(run *report.Run) (err error) {
	if s.Picture, err = draw(run); err != nil {
		return err
	}
	if race, found := render.Race(s.Worst.Run, run, 0); found {
		s.Race = &race
	}
	return nil
}

// draw returns the picture of a run.
func draw(run *report.Run) (template.HTML, error) {
	var b strings.Builder
	err := pages.Timeline(&b, run)
	return template.HTML(b.String()), err
}

// newRow returns a row with its bar.
func newRow(of *rollout.Row) row {
	f := func(v float64) string { return rollout.Format(of.Row, v) }
	r := row{Text: of.Text, Least: f(of.Least), Median: f(of.Median), P95: f(of.P95), Greatest: f(of.Greatest)}
	most := of.Greatest
	if of.Always != nil {
		most, r.Always = max(most, *of.Always), f(*of.Always)
	}
	if most > 0 {
		at := func(v float64) float64 { return 100 * v / most }
		r.From, r.Middle, r.Reaches = at(of.Least), at(of.Median), at(of.Greatest)
		r.Width = max(r.Reaches-r.From, 0.8)
		if of.Always != nil {
			r.AlwaysX = at(*of.Always)
		}
	}
	return r
}

// Arms returns both chains of causes of the race.
func (s *section) Arms() []*why.Arm { return []*why.Arm{&s.Race.Begin, &s.Race.End} }

// Took formats the delay of a step of the race.
func (s *section) Took(h why.Hop) string { return report.RaceDelay(&h) }
