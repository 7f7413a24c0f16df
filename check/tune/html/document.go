package html

import (
	"fmt"
	"html/template"
	"strings"

	"probesim.dev/check"
	"probesim.dev/check/tune"
)

// document is the data of the page for the template.
type document struct {
	Title      string
	Policy     string
	Style      template.CSS
	Script     template.JS
	Report     *tune.Report
	Workloads  []workload
	Comparison string
}

type workload struct {
	*tune.Workload
	Containers []container
}

type container struct {
	*tune.Container
	Changes []change
	Margins []margin
	Wider   string
	Plots   []*plot
}

// change is a field that changes.
type change struct{ Field, Before, After string }

// margin says by how much a requirement is met.
type margin struct{ Requirement, Value, Margin string }

func newDocument(r *tune.Report, comparison string) *document {
	d := &document{Report: r, Comparison: comparison, Title: "Settings that meet the requirements"}
	switch {
	case r.Problems():
		d.Title = "A workload could not be tuned"
	case !r.Met():
		d.Title = "No setting meets all requirements"
	case !r.Changed():
		d.Title = "The requirements are met already"
	}
	for i := range r.Workloads {
		w := workload{Workload: &r.Workloads[i]}
		for k := range w.Workload.Containers {
			w.Containers = append(w.Containers, newContainer(&w.Workload.Containers[k], fmt.Sprintf("w%dc%d", i+1, k+1)))
		}
		d.Workloads = append(d.Workloads, w)
	}
	return d
}

func newContainer(of *tune.Container, id string) container {
	c := container{Container: of}
	for _, x := range of.Changes {
		before := "none"
		if x.Before != nil {
			before = fmt.Sprint(*x.Before)
		}
		c.Changes = append(c.Changes, change{x.Field, before, fmt.Sprint(x.After)})
	}
	for _, m := range of.Margins {
		format := check.FormatTime
		if strings.Contains(m.Requirement, ">=") {
			format = check.FormatDown
		}
		c.Margins = append(c.Margins, margin{m.Requirement, format(m.Value), check.FormatDown(m.Margin)})
	}
	if x := of.Wider; x != nil {
		c.Wider = fmt.Sprintf("The changed setting just meets the requirements. With %s %d, the margin of %s is %s.", x.Field, x.Value, x.Requirement, check.FormatDown(x.Margin))
	}
	for i := range of.Frontiers {
		c.Plots = append(c.Plots, newPlot(&of.Frontiers[i], fmt.Sprintf("%sp%d", id, i+1)))
	}
	return c
}
