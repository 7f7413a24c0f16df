package report

import (
	"cmp"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
)

// scale maps time to columns. Column i shows [edges[i], edges[i+1]); the last one shows its end
// too. Outside gaps, all columns cover the same time. Gaps compress long stretches without changes.
type scale struct {
	edges []virtual.Time
	end   virtual.Time  // the last column may extend beyond it
	step  time.Duration // time of a column outside gaps
	gaps  []gap
}

// gap is a compressed stretch of time.
type gap struct {
	first, end int // columns [first, end)
	from, to   virtual.Time
}

const (
	// around is the time before and after each change that stays at full scale.
	around = 10 * time.Second
	// gapColumns is the minimum width of a gap, which contains a label.
	gapColumns = 9
	// shortest is the minimum time of a timeline, which leaves room for the labels of the axis.
	shortest = 20 * time.Millisecond
)

// newScale returns a scale for [from, to] with at most the given number of columns. It compresses
// long stretches without changes if that makes the rest at least three times as detailed.
func newScale(from, to virtual.Time, columns int, changes []virtual.Time) *scale {
	to = max(to, from.Add(shortest))
	linear := even(from, to, columns)
	quiet := quietStretches(from, to, linear.step*gapColumns, changes)
	quiet = longest(quiet, columns/20)
	if len(quiet) == 0 {
		return linear
	}
	if compressed := compress(from, to, columns, quiet); compressed != nil && 3*compressed.step <= linear.step {
		return compressed
	}
	return linear
}

func even(from, to virtual.Time, columns int) *scale {
	s := &scale{step: niceStep(to.Sub(from), columns), edges: []virtual.Time{from}, end: to}
	s.grow(to)
	return s
}

// grow appends full-scale columns up to t.
func (s *scale) grow(t virtual.Time) {
	for at := s.edges[len(s.edges)-1]; at < t; {
		at = at.Add(s.step)
		s.edges = append(s.edges, at)
	}
}

// stretch is a range of time.
type stretch struct{ from, to virtual.Time }

// quietStretches returns the stretches of at least the given length that are not near a change.
func quietStretches(from, to virtual.Time, least time.Duration, changes []virtual.Time) []stretch {
	var quiet []stretch
	add := func(a, b virtual.Time) {
		if b.Sub(a) >= least {
			quiet = append(quiet, stretch{a, b})
		}
	}
	last := from
	for _, t := range changes {
		if t < from || t > to {
			continue
		}
		add(last, t.Add(-around))
		last = max(last, t.Add(around))
	}
	add(last, to)
	return quiet
}

// longest keeps the n longest stretches, in order of time.
func longest(all []stretch, n int) []stretch {
	if len(all) <= n {
		return all
	}
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b stretch) int { return int(b.to.Sub(b.from) - a.to.Sub(a.from)) })
	kept := bySize[:n]
	slices.SortFunc(kept, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	return kept
}

// compress returns a scale in which quiet stretches share the columns that the rest does not need,
// or nil if there are too few columns.
func compress(from, to virtual.Time, columns int, quiet []stretch) *scale {
	silent := time.Duration(0)
	for _, q := range quiet {
		silent += q.to.Sub(q.from)
	}
	room := columns - (gapColumns+2)*len(quiet) // 2: each gap ends on a whole column
	if room < columns/3 {
		return nil
	}
	step := max(niceStep(to.Sub(from)-silent, room), time.Second)
	for used := int((to.Sub(from)-silent)/step) + 2*len(quiet); used <= columns; used++ {
		s := &scale{step: step, edges: []virtual.Time{from.Add(-(from.Offset() % step))}, end: to}
		for _, q := range quiet {
			s.grow(q.from)
			share := int(float64(columns-used) * float64(q.to.Sub(q.from)) / float64(silent))
			s.addGap(q.to.Add(-(q.to.Offset() % step)), min(max(share, gapColumns), 3*gapColumns))
		}
		if s.grow(to); s.columns() <= columns { // the ends of gaps on whole columns add some
			return s
		}
	}
	return nil
}

// addGap appends a gap of n columns that ends at t.
func (s *scale) addGap(t virtual.Time, n int) {
	from := s.edges[len(s.edges)-1]
	if t <= from {
		return
	}
	first := len(s.edges) - 1
	// a product of all of it overflows after ten years
	each, rest := t.Sub(from)/time.Duration(n), t.Sub(from)%time.Duration(n)
	for i := range time.Duration(n) {
		s.edges = append(s.edges, from.Add((i+1)*each+(i+1)*rest/time.Duration(n)))
	}
	s.gaps = append(s.gaps, gap{first, first + n, from, t})
}

func (s *scale) columns() int        { return len(s.edges) - 1 }
func (s *scale) from() virtual.Time  { return s.edges[0] }
func (s *scale) until() virtual.Time { return s.edges[len(s.edges)-1] }

// column returns the column of t. For a time outside the scale, it returns the first or last
// column.
func (s *scale) column(t virtual.Time) int {
	i, found := slices.BinarySearch(s.edges, t)
	if !found {
		i--
	}
	return min(max(i, 0), s.columns()-1)
}

// span returns the columns [first, end) of [from, to), or an empty range if it lies outside the
// scale.
func (s *scale) span(from, to virtual.Time) (first, end int) {
	if to <= s.from() || from > s.until() || to <= from {
		return 0, 0
	}
	return s.column(from), s.column(to-1) + 1
}

// steps are the possible times of a column: round numbers that divide common probe periods.
var steps = []time.Duration{1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, // milliseconds
	1000, 1500, 2000, 2500, 3000, 4000, 5000, 6000, 7500, 10_000, 12_000, 15_000, 20_000, 25_000, 30_000, 40_000,
	60_000, 90_000, 120_000, 150_000, 180_000, 240_000, 300_000, 360_000, 450_000, 600_000, 720_000, 900_000, 1_200_000,
	1_800_000, 3_600_000}

// niceStep returns the shortest step with which span fits into the columns.
func niceStep(span time.Duration, columns int) time.Duration {
	for _, ms := range steps {
		if step := ms * time.Millisecond; span <= step*time.Duration(columns) {
			return step
		}
	}
	hours := span/(time.Duration(columns)*time.Hour) + 1
	return hours * time.Hour
}
