package html

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/printable"
	pages "probesim.dev/internal/show/html"
)

// document is the data of the page for the template.
type document struct {
	pages.Head
	Report   *check.Report
	Unready  []string
	Missed   []render.Fact
	Counted  string // workloads and containers, if there are several workloads
	Changes  []render.Change
	Start    string // how long a start is known to take, or empty
	Sections []*section
}

// section is a container with probes, or a workload without such a container.
type section struct {
	ID           string
	Title        string // of the workload; with its file if a workload of another file has the same title
	Workload     *check.Workload
	Container    *check.Container // nil if the workload has no container with probes
	Counts       []count
	Chart        *chart // nil if the container has neither limits nor times
	NotSimulated string // what decides about the pods of the workload and is not simulated
	NotAbout     string // what is not about the container, which is a sidecar
	Facts        []render.Fact
	Findings     []finding
	Broken       []string      // requirements that the container does not meet
	Requirements []requirement // of the workload, in its last section
	Problem      string        // of the workload, in its last section
	Shown        []shown
}

// count is a number of findings of one severity.
type count struct {
	Severity check.Severity
	Text     string
}

type finding struct {
	*check.Finding
	Command string
}

type requirement struct {
	*check.Verification
	Text    string // the value, its container and its case
	Margin  string
	Command string
}

func newDocument(r *check.Report) *document {
	d := &document{Report: r, Unready: append(render.Unready(r), render.Measured(r)...), Missed: render.Missed(r),
		Changes: render.Changes(r)}
	if s := r.Start; s != nil {
		d.Start = check.Clock(check.Seconds(s.Min))
		if s.Min != s.Max {
			d.Start += " to " + check.Clock(check.Seconds(s.Max))
		}
	}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for k := range w.Containers {
			d.Sections = append(d.Sections, newSection(r, w, &w.Containers[k]))
		}
		if len(w.Containers) == 0 {
			d.Sections = append(d.Sections, &section{Title: title(r, w), Workload: w})
		}
		last := d.Sections[len(d.Sections)-1]
		last.Problem, last.NotSimulated = w.Problem, strings.Join(w.NotSimulated, ", ")
		for k := range w.Requirements {
			v := &w.Requirements[k]
			last.Requirements = append(last.Requirements,
				requirement{v, render.Requirement(v), render.Margin(v), render.RequirementCommand(v)})
			if !v.Met {
				decides := d.sectionOf(w, v.Container, last)
				decides.Broken = append(decides.Broken, v.Requirement)
			}
		}
	}
	for i, s := range d.Sections {
		s.ID = fmt.Sprintf("c%d", i+1)
		s.addShown()
	}
	d.Title = "Probe settings: " + render.Counts(&r.Verdict)
	if v := &r.Verdict; len(r.Workloads) > 1 {
		d.Counted = counted(v.Workloads, "workload") + ", " + counted(v.Containers, "container")
	}
	return d
}

// sectionOf returns the section of a container of a workload, or another one if there is none.
func (d *document) sectionOf(w *check.Workload, container string, other *section) *section {
	for _, s := range d.Sections {
		if s.Workload == w && s.Container != nil && s.Container.Name == container {
			return s
		}
	}
	return other
}

var severities = []check.Severity{check.Error, check.Warning, check.Note}

func newSection(r *check.Report, w *check.Workload, c *check.Container) *section {
	s := &section{Title: title(r, w), Workload: w, Container: c, Chart: newChart(w, c)}
	for _, severity := range severities {
		n := 0
		for i := range c.Findings {
			if f := &c.Findings[i]; f.Severity == severity {
				s.Findings = append(s.Findings, finding{f, render.Command(f)})
				n++
			}
		}
		if n > 0 {
			s.Counts = append(s.Counts, count{severity, counted(n, string(severity))})
		}
	}
	s.NotAbout, s.Facts = render.NotAbout(r, w, c), render.Facts(c)
	return s
}

// title returns the title of a workload, with its file if a workload of another file has the same
// title.
func title(r *check.Report, w *check.Workload) string {
	twice := slices.ContainsFunc(r.Workloads,
		func(other check.Workload) bool { return other.Title() == w.Title() && other.File != w.File })
	if twice {
		return w.Title() + " of " + w.File
	}
	return w.Title()
}

func counted(n int, word string) string { return fmt.Sprintf("%d %s", n, printable.Plural(n, word)) }
