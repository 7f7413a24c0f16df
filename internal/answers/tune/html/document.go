package html

import (
	"fmt"

	"probesim.dev/internal/answers/tune"
	pages "probesim.dev/internal/show/html"
)

// document is the data of the page for the template.
type document struct {
	pages.Head
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
	Plots []*plot
}

func newDocument(r *tune.Report, comparison string) *document {
	d := &document{Report: r, Comparison: comparison}
	d.Title = "Settings that meet the requirements"
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
			w.Containers = append(w.Containers,
				newContainer(&w.Workload.Containers[k], fmt.Sprintf("w%dc%d", i+1, k+1)))
		}
		d.Workloads = append(d.Workloads, w)
	}
	return d
}

func newContainer(of *tune.Container, id string) container {
	c := container{Container: of}
	for i := range of.Frontiers {
		c.Plots = append(c.Plots, newPlot(&of.Frontiers[i], fmt.Sprintf("%sp%d", id, i+1)))
	}
	return c
}
