package html

import (
	"fmt"
	"slices"
	"strconv"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/history"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// objects adds the lanes of Deployments and Services: the Ready pods of each ReplicaSet as a
// stacked bar, the endpoints, the targets of each router, and the requests that are lost.
func (c *chart) objects(h *history.History) {
	for _, w := range h.Workloads {
		name := printable.Text(trace.PodName(w.Name))
		c.Lanes = append(c.Lanes, &lane{Label: name, Of: "Deployment " + name, Kind: "object", Pod: -1},
			stacked(w, name, h.End))
	}
	for _, s := range h.Services {
		name := printable.Text(trace.PodName(s.Name))
		c.Lanes = append(c.Lanes, &lane{Label: "service " + name, Of: "Service " + name, Kind: "object", Pod: -1},
			levels("endpoints", name, s.Endpoints, h.End))
		for _, r := range s.Routers {
			c.Lanes = append(c.Lanes, levels(printable.Text(r.Name), name, r.Targets, h.End))
			if len(r.Losses) > 0 {
				c.Lanes = append(c.Lanes, losses(r, name))
			}
		}
	}
}

// levels shows a number as the height of a bar.
func levels(label, of string, list []history.Level, end virtual.Time) *lane {
	l := &lane{Label: label, Of: of, Kind: "level", Depth: 1, Pod: -1}
	l.level(list, end, "level", highest(list))
	return l
}

func highest(list []history.Level) int {
	most := 1
	for _, v := range list {
		most = max(most, v.Value)
	}
	return most
}

// level adds a bar for each stretch in which a number is not zero.
func (l *lane) level(list []history.Level, end virtual.Time, state string, most int) {
	for i, v := range list {
		to := end
		if i+1 < len(list) {
			to = list[i+1].At
		}
		if to > v.At && v.Value > 0 {
			l.Bars = append(l.Bars, bar{span: span{v.At, to}, State: state, Text: strconv.Itoa(v.Value),
				Part: float64(v.Value) / float64(most), record: v.Record})
		}
	}
}

// stacked shows the Ready pods of a Deployment, those of each ReplicaSet on top of those of the one
// before.
func stacked(w *history.Workload, name string, end virtual.Time) *lane {
	l := &lane{Label: "Ready", Of: name, Kind: "level", Depth: 1, Pod: -1}
	var times []virtual.Time
	for _, s := range w.ReplicaSets {
		for _, v := range s.Ready {
			times = append(times, v.At)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	most := 1
	for _, t := range times {
		most = max(most, readyAt(w, t))
	}
	for i, t := range times {
		to := end
		if i+1 < len(times) {
			to = times[i+1]
		}
		if i > 0 && !changesReady(w, times[i-1], t) {
			l.Bars = lengthened(l.Bars, t, to)
			continue
		}
		below, last := 0, len(l.Bars)
		for n, s := range w.ReplicaSets {
			v := valueAt(s.Ready, t)
			if v.Value == 0 || to <= t {
				continue
			}
			b := bar{span: span{t, to}, State: fmt.Sprintf("set%d", n%4), Part: float64(v.Value) / float64(most),
				Below: float64(below) / float64(most), record: v.Record}
			l.Bars = append(l.Bars, b)
			below += v.Value
		}
		if n := len(l.Bars); n > last {
			l.Bars[n-1].Text = strconv.Itoa(below)
		}
	}
	return l
}

// changesReady reports whether a ReplicaSet has another number of Ready pods at a time than at one
// before.
func changesReady(w *history.Workload, before, now virtual.Time) bool {
	return slices.ContainsFunc(w.ReplicaSets,
		func(s *history.ReplicaSet) bool { return valueAt(s.Ready, before).Value != valueAt(s.Ready, now).Value })
}

// lengthened moves the end of the bars that end at a time.
func lengthened(bars []bar, from, to virtual.Time) []bar {
	for i := range bars {
		if bars[i].To == from {
			bars[i].To = to
		}
	}
	return bars
}

func readyAt(w *history.Workload, t virtual.Time) int {
	sum := 0
	for _, s := range w.ReplicaSets {
		sum += valueAt(s.Ready, t).Value
	}
	return sum
}

func valueAt(list []history.Level, t virtual.Time) history.Level {
	var last history.Level
	for _, v := range list {
		if v.At <= t {
			last = v
		}
	}
	return last
}

// losses shows how many requests a second are lost, and at once. Losses of several pods at one time
// share a bar.
func losses(r *history.Router, of string) *lane {
	l := &lane{Label: fmt.Sprintf("lost %.0f", r.Lost()), Of: of, Kind: "level", Depth: 1, Pod: -1}
	var edges []virtual.Time
	for _, loss := range r.Losses {
		edges = append(edges, loss.From, loss.To)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var bars []bar
	most := 0.0
	for i := 0; i+1 < len(edges); i++ {
		b := bar{span: span{edges[i], edges[i+1]}, State: "lost"}
		for _, loss := range r.Losses {
			if loss.From <= b.From && loss.To >= b.To {
				b.Part, b.record = b.Part+loss.Rate, loss.Record
			}
		}
		if b.Part > 0 {
			b.Text = fmt.Sprintf("%.0f/s", b.Part)
			bars, most = append(bars, b), max(most, b.Part)
		}
	}
	for i := range bars {
		bars[i].Part /= most
	}
	l.Bars = bars
	for _, loss := range r.Losses {
		if loss.From == loss.To {
			l.records = append(l.records, loss.Record)
		}
	}
	return l
}
