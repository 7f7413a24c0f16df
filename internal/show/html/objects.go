package html

import (
	"fmt"
	"slices"
	"strconv"

	"probesim.dev/internal/show/history"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
)

// object adds a lane of the node, or of a Deployment or a Service. The Ready pods of each
// ReplicaSet are a stacked bar.
func (c *chart) object(l *report.Lane, end virtual.Time) {
	switch l.Kind {
	case "set", "wanted":
		return // stacked has them
	case "kubelet":
		for i := range l.Bars {
			b := &l.Bars[i]
			if b.State = map[string]string{"yes": "up", "no": "down"}[b.State]; b.State == "down" {
				c.Down = append(c.Down, span{b.From, b.To})
			}
		}
	case "lost":
		l.Kind = "level"
	case "level":
		l.Bars = slices.DeleteFunc(l.Bars, func(b report.Bar) bool { return b.Value == 0 })
	}
	c.Lanes = append(c.Lanes, &lane{Lane: l})
	if l.Workload != nil {
		c.Lanes = append(c.Lanes, stacked(l.Workload, l.Label, end))
	}
}

// stacked shows the Ready pods of a Deployment, those of each ReplicaSet on top of those of the one
// before.
func stacked(w *history.Workload, name string, end virtual.Time) *lane {
	l := &lane{Lane: &report.Lane{Label: "Ready", Of: name, Kind: "level", Depth: 1, Pod: -1}}
	var times []virtual.Time
	for _, s := range w.ReplicaSets {
		for i, v := range s.Ready {
			if i > 0 || v.Value > 0 {
				times = append(times, v.At)
			}
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
		below, last := 0, len(l.Bars)
		for n, s := range w.ReplicaSets {
			v := valueAt(s.Ready, t)
			if v.Value == 0 || to <= t {
				continue
			}
			b := report.Bar{From: t, To: to, State: fmt.Sprintf("set%d", n%4), Part: float64(v.Value) / float64(most),
				Below: float64(below) / float64(most), Record: v.Record}
			l.Bars = append(l.Bars, b)
			below += v.Value
		}
		if n := len(l.Bars); n > last {
			l.Bars[n-1].Text = strconv.Itoa(below)
		}
	}
	return l
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
