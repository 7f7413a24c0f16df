package html

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/render"
	pages "probesim.dev/internal/show/html"
)

// tuning is the data of the page about changes.
type tuning struct {
	pages.Head
	Report   *rollout.Tuning
	Sections []*tuned
	About    string
}

// tuned is a Deployment, with pictures of its worst runs before and after the changes.
type tuned struct {
	*rollout.Tuned
	Headline string
	Changes  []fix
	Require  []requirement
	Pictures []picture
}

type picture struct {
	Caption string
	Drawing template.HTML
}

// WriteTuning writes the page of changes that meet requirements. The report must have the worst
// runs. The same report gives the same bytes.
func WriteTuning(w io.Writer, r *rollout.Tuning) error {
	d := &tuning{Report: r, About: r.Program + " " + r.Requests.Covers}
	var titles []string
	for i := range r.Workloads {
		s, err := newTuned(r, &r.Workloads[i])
		if err != nil {
			return err
		}
		d.Sections, titles = append(d.Sections, s), append(titles, s.Title()+": "+s.Headline)
	}
	d.Head = newHead(titles)
	return templates.ExecuteTemplate(w, "tuning.gohtml", d)
}

func newTuned(r *rollout.Tuning, w *rollout.Tuned) (*tuned, error) {
	s := &tuned{Tuned: w, Headline: strings.TrimSuffix(render.TunedHeadline(w), ".")}
	for i := range w.Changes {
		c := &w.Changes[i]
		s.Changes = append(s.Changes, fix{Text: render.Change(c), Where: fmt.Sprintf("%s:%d", w.File, c.Line),
			LosesNone: w.Met})
	}
	for i := range w.Requirements {
		q := &w.Requirements[i]
		s.Require = append(s.Require, requirement{render.TunedRow(w, q), q.After.Met})
	}
	for i, run := range w.Worst {
		when := "Before: the"
		if i > 0 {
			when = "With the changes: the"
		}
		drawing, err := draw(render.Drawn(run, r.Kubernetes))
		if err != nil {
			return nil, err
		}
		s.Pictures = append(s.Pictures, picture{fmt.Sprintf("%s worst run. In it, %s.", when, render.Outcome(run)),
			drawing})
	}
	return s, nil
}
