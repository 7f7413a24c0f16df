package html

import (
	"fmt"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/summary"
	"probesim.dev/trace"
)

// caseSummary is the summary of the runs of a case.
type caseSummary struct {
	*report.Case
	Facts      []string
	Tallies    []*report.Tally
	Numbers    []numbers
	Incomplete int // number of runs that the numbers leave out

	ids map[int64]string // sections of runs by seed
}

// numbers are the statistics of a pod or container.
type numbers struct {
	Name string
	Rows []numberRow
}

// numberRow is a statistic with its histogram.
type numberRow struct {
	Label                 string
	Min, Median, P95, Max string
	Seed                  int64
	Same                  bool
	ID                    string // section of the run with the greatest value, or empty
	Never                 string // what to know about values that are never, or empty
	Bars                  []histogramBar
}

// histogramBar is a bar of a histogram. Its height is in units of the picture.
type histogramBar struct {
	X, Y, Height int
	Text         string
	Never        bool
}

// Sizes of a histogram, in units of the picture.
const (
	bins            = 24
	binWidth        = 6
	histogramHeight = 24
)

// summaries returns the summaries of the cases with several runs.
func summaries(cases []report.Case, rows []row) []caseSummary {
	var list []caseSummary
	for i := range cases {
		c := &cases[i]
		if c.Statistics == nil || len(c.Runs) < 2 {
			continue
		}
		s := caseSummary{Case: c, Tallies: c.Tallies(), Incomplete: len(c.Runs) - c.Statistics.Runs,
			ids: map[int64]string{}}
		s.Facts = []string{c.Kubernetes, report.Plural(len(c.Runs), "run"), c.Counts()}
		for _, x := range rows {
			if x.of == c {
				s.ids[x.SeedOrZero()] = x.ID
			}
		}
		for _, p := range c.Statistics.Pods {
			s.add(report.EachLabel(p), &p.Statistics)
			for _, k := range p.Shown() {
				if !k.Equal(&p.Statistics) {
					s.add(trace.PodName(p.Name)+"/"+k.Name, &k.Statistics)
				}
			}
		}
		list = append(list, s)
	}
	return list
}

func (s *caseSummary) add(name string, values *summary.Statistics) {
	n := numbers{Name: printable.Text(name)}
	for _, r := range report.Rows(values) {
		max, seed := r.Max()
		x := numberRow{Label: r.Label, Min: r.Text(r.Min()), Median: r.Text(r.Median()), P95: r.Text(r.Quantile(95)),
			Max:  r.Text(max),
			Seed: seed, Same: r.Same(), ID: s.ids[seed], Bars: histogram(&r)}
		if count, seeds := r.Never(); count > 0 {
			x.Never = fmt.Sprintf("never: not within the run, %d of %d (%s)", count, r.Count(), seeds.Label())
		}
		n.Rows = append(n.Rows, x)
	}
	if len(n.Rows) > 0 {
		s.Numbers = append(s.Numbers, n)
	}
}

// histogram returns a bar for each of some ranges of equal width that has values, and a bar for the
// values that are never. It returns nil if all values are equal.
func histogram(r *report.Statistic) []histogramBar {
	if r.Same() {
		return nil
	}
	values := r.Values()
	never, _ := r.Never()
	finite := values[:len(values)-never]
	counts := make([]int, bins)
	low, width := int64(0), int64(1)
	if len(finite) > 0 {
		low = finite[0]
		width = (finite[len(finite)-1]-low)/bins + 1
	}
	most := never
	for _, v := range finite {
		i := (v - low) / width
		counts[i]++
		most = max(most, counts[i])
	}
	var bars []histogramBar
	bar := func(i, n int, text string, isNever bool) {
		height := max(1, n*histogramHeight/most)
		bars = append(bars, histogramBar{i * binWidth, histogramHeight - height, height,
			fmt.Sprintf("%s: %s", text, printable.Thousands(n)), isNever})
	}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		from, to := low+int64(i)*width, low+int64(i+1)*width-1
		text := r.Text(from)
		if to > from {
			text += " to " + r.Text(to)
		}
		bar(i, n, text, false)
	}
	if never > 0 {
		bar(bins, never, "never", true)
	}
	return bars
}
