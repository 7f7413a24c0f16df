package render

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
)

// legend explains the bars.
var legend = []document.Bar{
	{Class: "always", Title: "always goes well"}, {Class: "between", Title: "depends on timing"},
	{Class: "never", Title: "never goes well"},
	{Class: "span", Title: "best to worst"}, {Class: "mean", Title: "mean"}, {Class: "required", Title: "required"},
	{Class: "broken", Title: "required, not met"}, {Class: "known", Title: "known length of starts"},
}

// tables returns the tables of the limits and of the times of a container. Their bars have the same
// axis.
func tables(w *check.Workload, c *check.Container) (limits, times *document.Table) {
	a := newAxis(w, c)
	limits = &document.Table{Left: 1, Head: []string{"", "", "always", "never", youSay(c)}, Axis: a.labels()}
	for _, l := range c.Limits {
		never := check.FormatUp(l.Never)
		if l.Always.IsNever() && l.Never.IsNever() {
			never = ""
		}
		bars := []document.Bar{{Class: "always", To: a.at(l.Always)},
			{Class: "between", From: a.at(l.Always), To: a.at(l.Never)}, {Class: "never", From: a.at(l.Never), To: 1}}
		bars = slices.DeleteFunc(bars, func(b document.Bar) bool { return b.From >= b.To })
		bars = append(bars, a.required(w, c, l.Row, l.Always)...)
		said, style := said(c, &l)
		if said != "" && l.Row == check.Start {
			bars = append(bars, document.Bar{Class: "known", From: a.at(value.Seconds(c.Start.Min)),
				Title: "starts take at least " + check.Clock(c.Start.Min)},
				document.Bar{Class: "known", From: a.at(value.Seconds(c.Start.Max)),
					Title: "starts take at most " + check.Clock(c.Start.Max)})
		}
		row(limits, l.Text, bars, document.Cell{Text: check.FormatDown(l.Always)}, document.Cell{Text: never},
			document.Cell{Text: said, Style: style})
	}
	times = &document.Table{Left: 1, Head: []string{"", "", "best", "mean", "worst"}, Axis: a.labels()}
	for _, t := range c.Times {
		mean, bars := "", a.required(w, c, t.Row, t.Worst)
		if t.Mean != nil {
			mean = check.FormatUp(*t.Mean)
			bars = append(bars, document.Bar{Class: "mean", From: a.at(*t.Mean), Title: "mean " + mean})
		}
		if !t.Best.IsNever() {
			bars = slices.Insert(bars, 0, document.Bar{Class: "span", From: a.at(t.Best), To: a.at(t.Worst)})
		}
		row(times, t.Text, bars, document.Cell{Text: best(&t)}, document.Cell{Text: mean},
			document.Cell{Text: check.FormatTime(t.Worst)})
	}
	return limits, times
}

// row adds a row, and the kinds of its bars to the legend.
func row(t *document.Table, text string, bars []document.Bar, cells ...document.Cell) {
	t.Row(append([]document.Cell{{Text: label(text)}, {Bars: bars}}, cells...)...)
	for _, kind := range legend {
		same := func(b document.Bar) bool { return b.Class == kind.Class }
		if slices.ContainsFunc(bars, same) && !slices.ContainsFunc(t.Legend, same) {
			t.Legend = append(t.Legend, kind)
		}
	}
}

// said is the known length of starts beside the limit of a start. A mark says that the limit is
// shorter.
func said(c *check.Container, l *check.Limit) (string, document.Style) {
	switch {
	case c.Start == nil || l.Row != check.Start && l.Row != check.Restart:
		return "", document.Plain
	case value.Seconds(c.Start.Max) > l.Always:
		return c.Start.String() + " !", document.Bad
	}
	return c.Start.String() + "  ", document.Plain
}

// axis is the axis of a container. It begins at 0.
type axis struct{ end, step value.Seconds }

// newAxis returns an axis on which all values of a container have room.
func newAxis(w *check.Workload, c *check.Container) axis {
	values := []value.Seconds{value.Seconds(time.Second)}
	for _, l := range c.Limits {
		values = append(values, l.Always, l.Never)
	}
	for _, t := range c.Times {
		values = append(values, t.Best, t.Worst)
	}
	for _, v := range w.Requirements {
		if slices.Contains(v.Containers, c.Name) {
			values = append(values, v.Required)
		}
	}
	if c.Start != nil {
		values = append(values, value.Seconds(c.Start.Max))
	}
	most := slices.Max(slices.DeleteFunc(values, value.Seconds.IsNever))
	most += most / 20 // what exceeds the largest limit is visible
	return axisTo(most)
}

// steps are the distances of labels that people read easily, in milliseconds.
var steps = []time.Duration{200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
	1_200_000, 1_800_000, 3_600_000}

// axisTo returns an axis with up to 6 steps, on which a value has room.
func axisTo(most value.Seconds) axis {
	for i := 0; ; i++ {
		step := steps[min(i, len(steps)-1)] * time.Millisecond << max(0, i+1-len(steps))
		if s := value.Seconds(step); most/s < 6 {
			return axis{(most/s + 1) * s, s}
		}
	}
}

func (a axis) labels() (list []string) {
	for at := value.Seconds(0); at <= a.end; at += a.step {
		label := check.Clock(at)
		if a.step < value.Seconds(time.Second) {
			label = fmt.Sprintf("%.1fs", time.Duration(at).Seconds())
		}
		list = append(list, label)
	}
	return list
}

// at returns the place of a value. One without a limit is at the end.
func (a axis) at(s value.Seconds) float64 { return min(float64(s)/float64(a.end), 1) }

// required returns the marks of the requirements on a row of a container with a value. The mark of
// a requirement that the value breaks is red.
func (a axis) required(w *check.Workload, c *check.Container, id check.RowID,
	value value.Seconds) (list []document.Bar) {
	for _, v := range w.Requirements {
		if v.Row != id || !slices.Contains(v.Containers, c.Name) {
			continue
		}
		class := "required"
		if !(check.Requirement{Row: id, Duration: time.Duration(v.Required)}).Holds(value) {
			class = "broken"
		}
		list = append(list, document.Bar{Class: class, From: a.at(v.Required), Title: "required: " + v.Requirement})
	}
	return list
}
