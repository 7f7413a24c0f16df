package tune

import (
	"fmt"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/findings"
	"probesim.dev/internal/workloads"
)

// Document returns the report: for each container the changes, which requirements they meet, and
// what gets worse. A comparison of the check before and after the changes may follow.
func Document(r *Report, comparison *document.Document) *document.Document {
	d := document.New("Settings that meet the requirements")
	switch {
	case r.Problems():
		d.Title = "A workload could not be tuned"
	case !r.Met():
		d.Title = "No setting meets all requirements"
	case !r.Changed():
		d.Title = "The requirements are met already"
	}
	nodes := fmt.Sprintf("Kubernetes %s, %s nodes", strings.Join(r.Kubernetes, ", "), r.Delays)
	for i := range r.Workloads {
		workload(d, &r.Workloads[i], nodes)
	}
	if comparison != nil {
		d.Section(document.Section{Title: "The check before and after", Body: comparison.Body, Details: true})
	}
	return d
}

func workload(d *document.Document, w *Workload, nodes string) {
	title := w.Title()
	d.Gap()
	if w.Problem != "" {
		d.Section(document.Section{Title: title}).Text(document.Bad, "not tuned: "+w.Problem)
	}
	for _, m := range w.Missing {
		d.Text(document.Bad, title+", "+m.String())
	}
	if g := w.Grace; g != nil {
		s := d.Section(document.Section{Title: title, Facts: nodes})
		s.Note(document.Good, g.String())
		s.Text(document.Plain, g.Why())
	} else if len(w.Requirements) == 0 && w.Problem == "" {
		d.Text(document.Good, title+": the requirements are met already.")
	}
	for i := range w.Containers {
		if c := &w.Containers[i]; c.Tuned() {
			c.addTo(d.Section(document.Section{Title: title + ", container " + c.Name, Facts: nodes}))
		}
	}
}

func (c *Container) addTo(s *document.Section) {
	if len(c.Why) > 0 {
		s.Text(document.Bad, "No setting was found that meets the requirements.")
		for _, reason := range c.Why {
			s.Note(document.Plain, reason)
		}
		return
	}
	if len(c.Changes) == 0 {
		s.Text(document.Good, "The requirements are met already.")
	}
	for _, x := range c.changed() {
		s.Note(document.Good, x)
	}
	s.Text(document.Plain, c.margins())
	for _, note := range c.Notes() {
		s.Text(document.Plain, note)
	}
}

// changed returns the changes for people. A new probe is one.
func (c *Container) changed() (list []string) {
	for k, p := range c.added {
		if p != nil {
			list = append(list, fmt.Sprintf("%s: none -> %s", kind(k), workloads.Describe(p)))
		}
	}
	for _, x := range c.Changes {
		if c.added[x.place.kind] == nil {
			list = append(list, fmt.Sprintf("%s: %s -> %d", x.Field, x.From(), x.After))
		}
	}
	return list
}

// margins says in a line by how much the requirements are met.
func (c *Container) margins() string {
	var list []string
	for _, m := range c.Margins {
		text := m.Requirement + ": " + m.ValueText()
		if margin := check.FormatDown(m.Margin); !m.Margin.IsNever() {
			text += " (margin " + margin + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// Findings returns the requirements that no setting meets.
func Findings(r *Report) *findings.List {
	list := &findings.List{Command: "probesim tune", Rules: []findings.Rule{
		{ID: "requirement", Text: "No setting meets a requirement.",
			Help: "The message says what contradicts it, or which probe is missing."},
	}}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		one := findings.Case{Name: w.Title(), File: w.File, Line: w.Line, Problem: w.Problem}
		add := func(text string) {
			one.Findings = append(one.Findings,
				findings.Finding{Rule: "requirement", Level: findings.Error, File: w.File, Line: w.Line,
					Title: w.Title(), Message: text, Fails: true})
		}
		for _, m := range w.Missing {
			add(m.String())
		}
		for _, c := range w.Containers {
			for _, reason := range c.Why {
				add("container " + c.Name + ": " + reason)
			}
		}
		list.Cases = append(list.Cases, one)
	}
	return list
}
