package html

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/answers/check"
)

// chart is the picture of a container: a row for each limit and each time, all on one axis.
type chart struct {
	Ticks  []tick
	Limits []row
	Times  []row
	Legend []key
}

// key is an entry of the legend.
type key struct{ Kind, Text string }

// legend lists the kinds of bars and marks.
var legend = []key{
	{"always", "always goes well"}, {"between", "depends on timing"}, {"never", "never goes well"},
	{"span", "best to worst"},
	{"mean", "mean"}, {"required", "required"}, {"broken", "required, not met"}, {"known", "known length of starts"},
}

// tick is a label of the axis. Positions are percentages of the width of the picture.
type tick struct {
	At     float64
	Label  string
	Anchor string // of the text: start, middle or end
}

// row is a line of the picture with its numbers.
type row struct {
	id    check.RowID
	Links [3]string // the IDs of the runs behind the numbers, or empty
	Text  string
	Bars  []bar
	Marks []mark
	Cells [3]string
	Cases []row // how the row differs between cases and versions of Kubernetes
}

// bar is a colored part of a row.
type bar struct {
	Kind        string // always, between or never of a limit; span of a time
	From, Width float64
}

// mark is a line across a row: a requirement, the mean of a time, or the known length of starts.
type mark struct {
	Kind string // required, broken, mean or known
	At   float64
	Text string
}

// newChart returns the chart of a container, or nil if it has neither limits nor times.
func newChart(w *check.Workload, c *check.Container) *chart {
	if len(c.Limits)+len(c.Times) == 0 {
		return nil
	}
	a := newAxis(w, c)
	p := &chart{Ticks: a.ticks()}
	for i := range c.Limits {
		l := &c.Limits[i]
		x := a.limit(l.Text, l.Always, l.Never)
		x.id = l.Row
		x.Marks = append(a.required(w, c, l.Row, l.Always), a.known(c, l.Row)...)
		for _, g := range group(l.Cases) {
			x.Cases = append(x.Cases, a.limit(g.name, g.Least, g.Greatest))
		}
		p.Limits = append(p.Limits, x)
	}
	for i := range c.Times {
		t := &c.Times[i]
		x := a.time(t.Text, t.Best, t.Mean, t.Worst)
		x.id = t.Row
		x.Marks = append(x.Marks, a.required(w, c, t.Row, t.Worst)...)
		for _, g := range group(t.Cases) {
			x.Cases = append(x.Cases, a.time(g.name, g.Least, nil, g.Greatest))
		}
		p.Times = append(p.Times, x)
	}
	if d := c.Deleted; d != nil {
		text := "deleted → SIGTERM, SIGKILL"
		if d.Condition != "" {
			text += " (SIGTERM " + d.Condition + ")"
		}
		x := row{Text: text, Cells: [3]string{check.FormatUp(d.SIGTERM), "", check.FormatUp(d.SIGKILL)}}
		x.Bars = a.bars(bar{"span", float64(d.SIGTERM), float64(d.SIGKILL)})
		p.Times = append(p.Times, x)
	}
	for _, k := range legend {
		if slices.ContainsFunc(p.Limits, k.in) || slices.ContainsFunc(p.Times, k.in) {
			p.Legend = append(p.Legend, k)
		}
	}
	return p
}

// in reports whether a row has a bar or a mark of the kind.
func (k key) in(r row) bool {
	return slices.ContainsFunc(r.Bars, func(b bar) bool { return b.Kind == k.Kind }) ||
		slices.ContainsFunc(r.Marks, func(m mark) bool { return m.Kind == k.Kind })
}

// axis is the axis of a container. It begins at 0.
type axis struct{ end, step check.Seconds }

// newAxis returns an axis on which all values of a container have room.
func newAxis(w *check.Workload, c *check.Container) axis {
	most := check.Seconds(time.Second)
	add := func(values ...check.Seconds) {
		for _, v := range values {
			if !v.IsNever() {
				most = max(most, v)
			}
		}
	}
	rows := map[check.RowID]bool{}
	for _, l := range c.Limits {
		rows[l.Row] = true
		add(l.Always, l.Never)
	}
	for _, t := range c.Times {
		rows[t.Row] = true
		add(t.Best, t.Worst)
	}
	for _, v := range w.Requirements {
		if rows[v.Row] && slices.Contains(v.Containers, c.Name) {
			add(v.Required)
		}
	}
	if c.Deleted != nil {
		add(c.Deleted.SIGTERM, c.Deleted.SIGKILL)
	}
	if c.Start != nil && rows[check.Start] {
		add(check.Seconds(c.Start.Max))
	}
	most += most / 20 // what exceeds the largest limit is visible
	a := axis{step: steps[len(steps)-1]}
	for _, step := range slices.Backward(steps) {
		if most/step < maxTicks {
			a.step = step
		}
	}
	for a.step*maxTicks <= most {
		a.step *= 2
	}
	a.end = (most/a.step + 1) * a.step
	return a
}

// maxTicks limits the ticks after that at 0.
const maxTicks = 6

// steps are the distances of ticks that people read easily.
var steps = []check.Seconds{
	check.Seconds(200 * time.Millisecond), check.Seconds(500 * time.Millisecond), check.Seconds(time.Second),
	check.Seconds(2 * time.Second),
	check.Seconds(5 * time.Second), check.Seconds(10 * time.Second), check.Seconds(20 * time.Second),
	check.Seconds(30 * time.Second),
	check.Seconds(time.Minute), check.Seconds(2 * time.Minute), check.Seconds(5 * time.Minute),
	check.Seconds(10 * time.Minute),
	check.Seconds(20 * time.Minute), check.Seconds(30 * time.Minute), check.Seconds(time.Hour),
}

func (a axis) ticks() []tick {
	var list []tick
	for at := check.Seconds(0); at <= a.end; at += a.step {
		t := tick{a.at(at), check.Clock(at), "middle"}
		if a.step < check.Seconds(time.Second) {
			t.Label = fmt.Sprintf("%.1fs", time.Duration(at).Seconds())
		}
		switch at {
		case 0:
			t.Anchor = "start"
		case a.end:
			t.Anchor = "end"
		}
		list = append(list, t)
	}
	return list
}

// at returns the position of a value as a percentage of the axis. A value without a limit is at the
// end.
func (a axis) at(s check.Seconds) float64 { return a.percent(float64(s)) }

func (a axis) percent(s float64) float64 {
	return float64(int(10_000*min(s/float64(a.end), 1))) / 100
}

// bars converts bars whose From and Width are the two ends in nanoseconds, and leaves out empty
// ones.
func (a axis) bars(list ...bar) []bar {
	var kept []bar
	for _, b := range list {
		from, to := a.percent(b.From), a.percent(b.Width)
		if b.Kind == "span" {
			to = max(to, from+leastWidth)
		}
		if to > from {
			kept = append(kept, bar{b.Kind, from, to - from})
		}
	}
	return kept
}

// leastWidth is the least width of the bar of a time. Without it a time without a range would have
// no bar.
const leastWidth = 0.4

// limit returns the row of a limit.
func (a axis) limit(text string, always, never check.Seconds) row {
	x := row{Text: arrows(text), Cells: [3]string{check.FormatDown(always), "", check.FormatUp(never)}}
	if always != never {
		x.Cells[1] = check.FormatDown(always) + " – " + check.FormatUp(never)
	}
	if always.IsNever() {
		x.Cells[2] = ""
	}
	x.Bars = a.bars(bar{"always", 0, float64(always)}, bar{"between", float64(always), float64(never)},
		bar{"never", float64(never), float64(a.end)})
	return x
}

// time returns the row of a time.
func (a axis) time(text string, best check.Seconds, mean *check.Seconds, worst check.Seconds) row {
	x := row{Text: arrows(text), Cells: [3]string{check.FormatDown(best), "", check.FormatTime(worst)}}
	if best.IsNever() {
		if x.Cells[0] = ""; worst.IsNever() {
			return x
		}
		best = 0
	}
	x.Bars = a.bars(bar{"span", float64(best), float64(worst)})
	if mean != nil && !mean.IsNever() {
		x.Cells[1] = check.FormatUp(*mean)
		x.Marks = []mark{{"mean", a.at(*mean), "mean " + check.FormatUp(*mean)}}
	}
	return x
}

// required returns the marks of the requirements on a row of a container with a value. The mark of
// a requirement that the value breaks is red.
func (a axis) required(w *check.Workload, c *check.Container, id check.RowID, value check.Seconds) []mark {
	var list []mark
	for i := range w.Requirements {
		v := &w.Requirements[i]
		if v.Row != id || !slices.Contains(v.Containers, c.Name) {
			continue
		}
		kind := "required"
		if !(check.Requirement{Row: id, Duration: time.Duration(v.Required)}).Holds(value) {
			kind = "broken"
		}
		list = append(list, mark{kind, a.at(v.Required), "required: " + v.Requirement})
	}
	return list
}

// known returns the marks of the known length of starts of a container.
func (a axis) known(c *check.Container, id check.RowID) []mark {
	if id != check.Start || c.Start == nil {
		return nil
	}
	least, most := check.Seconds(c.Start.Min), check.Seconds(c.Start.Max)
	list := []mark{{"known", a.at(least), "starts take at least " + check.Clock(least)}}
	if most != least {
		list = append(list, mark{"known", a.at(most), "starts take at most " + check.Clock(most)})
	}
	return list
}

// cases are the cases and versions that have the same range.
type cases struct {
	check.Range
	name string
}

// group combines the versions of each case that have the same range. It returns nothing if the row
// has only one range.
func group(ranges []check.Range) []cases {
	var list []cases
	for _, r := range ranges {
		same := func(c cases) bool { return c.Case == r.Case && c.Least == r.Least && c.Greatest == r.Greatest }
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i].Kubernetes += ", " + r.Kubernetes
			continue
		}
		list = append(list, cases{Range: r})
	}
	if len(list) < 2 {
		return nil
	}
	several := slices.ContainsFunc(ranges, func(r check.Range) bool { return r.Kubernetes != ranges[0].Kubernetes })
	for i := range list {
		c := &list[i]
		c.name = c.Case
		switch {
		case c.Case == "":
			c.name = c.Kubernetes
		case several:
			c.name += " (" + c.Kubernetes + ")"
		}
	}
	return list
}

func arrows(text string) string { return strings.ReplaceAll(text, "->", "→") }
