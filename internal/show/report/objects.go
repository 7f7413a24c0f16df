package report

import (
	"fmt"
	"math"
	"strconv"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/history"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// objectLanes returns the lanes of Deployments and Services: how many pods are Ready, are endpoints
// and get requests, and how many requests are lost. A service whose kube-proxy has no traffic
// beside a load balancer that has some is drawn without it.
func objectLanes(h *history.History) []lane {
	var all []lane
	for _, w := range h.Workloads {
		all = append(all, lane{label: printable.Text(trace.PodName(w.Name)), style: bold, draw: func(d *drawing) row {
			return make(row, d.scale.columns())
		}})
		for _, s := range w.ReplicaSets {
			if len(w.ReplicaSets) > 1 {
				all = append(all, levelLane("  "+printable.Text(trace.PodName(s.Name)), s.Ready, h.End, dim, nil))
			}
		}
		all = append(all, levelLane("  "+readyLabel(w), w.Ready, h.End, good, w.Desired))
	}
	for _, s := range h.Services {
		all = append(all, lane{label: "service " + printable.Text(trace.PodName(s.Name)), style: bold,
			draw: func(d *drawing) row {
				return make(row, d.scale.columns())
			}})
		all = append(all, levelLane("  endpoints", s.Endpoints, h.End, good, nil))
		for _, r := range s.Routers {
			all = append(all, levelLane("  "+printable.Text(r.Name), r.Targets, h.End, good, nil))
			if len(r.Losses) > 0 {
				all = append(all, lane{label: fmt.Sprintf("  lost %.0f", r.Lost()), style: bad,
					draw: func(d *drawing) row {
						return lossLane(d, r.Losses)
					}})
			}
		}
	}
	return all
}

// readyLabel is the label of the lane of the Ready pods of a Deployment, with the number at the end
// and the wanted number.
func readyLabel(w *history.Workload) string {
	if len(w.Ready) == 0 || len(w.Desired) == 0 {
		return "Ready"
	}
	return fmt.Sprintf("Ready %d/%d", w.Ready[len(w.Ready)-1].Value, w.Desired[len(w.Desired)-1].Value)
}

// levelLane draws a number as the height of a bar, and writes it where it changes. In a column with
// several values, the lowest counts. Values below the wanted ones are a warning.
func levelLane(label string, levels []history.Level, end virtual.Time, st document.Style, wanted []history.Level) lane {
	return lane{label: label, draw: func(d *drawing) row {
		r := make(row, d.scale.columns())
		values, most := columnValues(d.scale, levels, end)
		least, _ := columnValues(d.scale, wanted, end)
		for i, v := range values {
			if v < 0 {
				continue
			}
			of := st
			if len(wanted) > 0 && v < least[i] {
				of = warn
			}
			r[i] = d.g.level(float64(v)/float64(max(most, 1)), of)
			if i == 0 || values[i-1] != v {
				r.number(i, v, values, of)
			}
		}
		return r
	}}
}

// number writes a value at the beginning of a stretch with it, if there is room for it and for a
// bar.
func (r row) number(i, v int, values []int, st document.Style) {
	text := strconv.Itoa(v)
	for j := i; j <= i+len(text); j++ {
		if j >= len(values) || values[j] != v {
			return
		}
	}
	for j := range text {
		r[i+j] = cell{rune(text[j]), st}
		values[i+j] = v
	}
}

// columnValues returns the lowest value in each column, -1 before the first one, and the highest
// value of all.
func columnValues(s *scale, levels []history.Level, end virtual.Time) (values []int, most int) {
	values = make([]int, s.columns())
	for i := range values {
		values[i] = -1
	}
	for i, l := range levels {
		to := end
		if i+1 < len(levels) {
			to = levels[i+1].At
		}
		most = max(most, l.Value)
		first, past := s.span(l.At, to)
		for c := first; c < past; c++ {
			if values[c] < 0 || l.Value < values[c] {
				values[c] = l.Value
			}
		}
	}
	return values, most
}

// lossLane draws how many requests are lost in each column, compared with the worst column.
func lossLane(d *drawing, losses []history.Loss) row {
	r := make(row, d.scale.columns())
	sums := make([]float64, len(r))
	most := 0.0
	for _, l := range losses {
		for i := range sums {
			from, to := max(d.scale.edges[i], l.From), min(d.scale.edges[i+1], l.To)
			switch {
			case l.From == l.To && l.From >= d.scale.edges[i] && l.From < d.scale.edges[i+1]:
				sums[i] += l.Lost
			case to > from:
				sums[i] += l.Rate * to.Sub(from).Seconds()
			}
			most = max(most, sums[i])
		}
	}
	for i, n := range sums {
		if n > 0 {
			r[i] = d.g.level(n/most, bad)
			d.drawn[cell{d.g.levels[len(d.g.levels)-1], bad}] = true // for the legend
		}
	}
	return r
}

// level returns the character for a part of the highest value.
func (g *glyphs) level(part float64, st document.Style) cell {
	if part == 0 {
		return cell{g.no, dim}
	}
	n := len(g.levels)
	return cell{g.levels[min(max(int(math.Ceil(part*float64(n)))-1, 0), n-1)], st}
}
