package html

import (
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/answers/compare"
	pages "probesim.dev/internal/show/html"
	"probesim.dev/internal/value"
)

// document is the data of the page for the template.
type document struct {
	pages.Head
	Report    *compare.Report
	Workloads []workload
	Scenarios []scenario
}

type workload struct {
	*compare.Workload
	Containers   []container
	Requirements []requirement
}

type requirement struct {
	Met  bool
	Text string
}

// container has one table of limits and one of times.
type container struct {
	*compare.Container
	Heading string
	Remarks []*compare.Remark
	Tables  []table
}

type table struct {
	Head string // what the numbers are
	Rows []row
}

type row struct {
	Text, Before, After, Difference string
	Change                          compare.Change
	Tracks                          []track // before and after
}

// track is the bar of a row before or after the change. Positions are percentages of the width of
// the picture.
type track struct {
	Kind       string // before or after
	Y          int
	Sure, Rest float64 // of a limit, the widths of what always goes well and of what depends on timing
	From       float64 // of a time, where the bar begins
	Times      bool
}

type scenario struct {
	*compare.Scenario
	Groups []group
}

// group has the numbers of the pods of one workload.
type group struct {
	Pods string
	Rows []numbers
}

type numbers struct {
	Cells  []string
	Change compare.Change
}

func newDocument(r *compare.Report) *document {
	d := &document{Report: r}
	for i := range r.Workloads {
		w := workload{Workload: &r.Workloads[i]}
		for k := range w.Workload.Containers {
			of := &w.Workload.Containers[k]
			c := newContainer(of)
			c.Heading, c.Remarks = w.HeadingOf(of), w.Remarks(of)
			w.Containers = append(w.Containers, c)
		}
		for k := range w.Workload.Requirements {
			v := &w.Workload.Requirements[k]
			w.Requirements = append(w.Requirements, requirement{v.Met, render.Requirement(v)})
		}
		d.Workloads = append(d.Workloads, w)
	}
	for i := range r.Scenarios {
		d.Scenarios = append(d.Scenarios, newScenario(&r.Scenarios[i]))
	}
	return d
}

// title says how much got better and worse.
func title(r *compare.Report) string {
	if r.Count(compare.Better)+r.Count(compare.Worse)+r.Lost() == 0 {
		return "Probe settings: no limit and no time differs"
	}
	return "Probe settings: " + r.Headline()
}

func newContainer(of *compare.Container) container {
	c := container{Container: of}
	for _, t := range []struct {
		limit bool
		head  string
	}{{true, "always"}, {false, "at worst"}} {
		end := longest(of.Rows, t.limit)
		out := table{Head: t.head}
		for i := range of.Rows {
			if r := &of.Rows[i]; r.Limit == t.limit {
				out.Rows = append(out.Rows, newRow(r, end))
			}
		}
		if len(out.Rows) > 0 {
			c.Tables = append(c.Tables, out)
		}
	}
	return c
}

// longest returns the greatest value of the limits or of the times, for the axis. A value without a
// limit reaches its end.
func longest(rows []compare.Row, limits bool) check.Seconds {
	var end check.Seconds
	for i := range rows {
		if rows[i].Limit != limits {
			continue
		}
		for _, r := range []*value.Interval{rows[i].Before, rows[i].After} {
			if r == nil {
				continue
			}
			for _, s := range []check.Seconds{check.Seconds(r.Min), check.Seconds(r.Max)} {
				if !s.IsNever() {
					end = max(end, s)
				}
			}
		}
	}
	return max(end, 1)
}

func newRow(r *compare.Row, end check.Seconds) row {
	before, after := r.Guaranteed()
	out := row{Text: r.Text, Before: r.Format(before), After: r.Format(after), Difference: r.Difference(),
		Change: r.Change}
	at := func(s check.Seconds) float64 { return float64(int(10_000*min(float64(s)/float64(end), 1))) / 100 }
	for i, x := range []*value.Interval{r.Before, r.After} {
		if x == nil {
			continue
		}
		t := track{Kind: []string{"before", "after"}[i], Y: 2 + 9*i, Times: !r.Limit}
		least, greatest := at(check.Seconds(x.Min)), at(check.Seconds(x.Max))
		if check.Seconds(x.Min).IsNever() && !check.Seconds(x.Max).IsNever() { // the best of Ready is not known
			least = 0
		}
		if t.Rest = greatest - least; r.Limit {
			t.Sure = least
		}
		t.From = least
		out.Tracks = append(out.Tracks, t)
	}
	return out
}

func newScenario(of *compare.Scenario) scenario {
	s := scenario{Scenario: of}
	for i := range of.Numbers {
		p := &of.Numbers[i]
		if len(s.Groups) == 0 || s.Groups[len(s.Groups)-1].Pods != p.Pods {
			s.Groups = append(s.Groups, group{Pods: p.Pods})
		}
		g := &s.Groups[len(s.Groups)-1]
		g.Rows = append(g.Rows, numbers{p.Cells(), p.Judge()})
	}
	return s
}
