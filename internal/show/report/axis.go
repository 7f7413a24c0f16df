package report

import (
	"strconv"
	"time"
	"unicode/utf8"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
)

// ticks are the possible distances between labels on the axis, in milliseconds.
var ticks = []time.Duration{10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 20_000, 30_000, 50_000, 60_000,
	100_000, 120_000,
	180_000, 300_000, 600_000, 900_000, 1_200_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 14_400_000, 21_600_000,
	43_200_000, 86_400_000}

// tickStep returns the distance between labels: a multiple of step, and at least minColumns
// columns.
func tickStep(step time.Duration, minColumns int) time.Duration {
	for _, s := range ticks {
		if t := s * time.Millisecond; t%step == 0 && t/step >= time.Duration(minColumns) {
			return t
		}
	}
	return step * time.Duration(minColumns)
}

// axis returns the labels of the axis, in at most width columns, and its line.
func (s *scale) axis(run *Run, o document.Options, width int) (labels, line row) {
	g := glyphsOf(o)
	n := s.columns()
	labels, line = make(row, min(n+12, width)), make(row, n+1)
	for i := range line {
		line.set(i, g.axis, dim)
	}
	line.set(0, g.first, dim)
	line.set(n, g.last, dim)
	for _, q := range s.gaps {
		s.drawGap(line, q, g)
	}
	s.drawTicks(run, labels, line, g.tick)
	return labels, line
}

func (s *scale) drawTicks(run *Run, labels, line row, tick rune) {
	distance := tickStep(s.step, 8)
	free := 0 // first column for the next label
	for i, t := range s.edges {
		if i > 0 {
			t = s.multiple(run, i, distance)
		}
		if t < 0 || s.inGap(i) {
			continue
		}
		if i > 0 && i < s.columns() {
			line.set(i, tick, dim)
		}
		label := run.TickLabel(t, s.end)
		at := min(i, len(labels)-len(label))
		if at >= free {
			labels.text(at, label, dim)
			free = at + len(label) + 1
		}
	}
}

// multiple returns the multiple of a distance at edge i, or in the column that begins there if the
// column is at full scale. Without one it returns -1.
func (s *scale) multiple(run *Run, i int, distance time.Duration) virtual.Time {
	t := s.edges[i]
	next := run.Tick(t, distance)
	switch {
	case next == t:
		return t
	case i < s.columns() && s.edges[i+1].Sub(t) == s.step && next < s.edges[i+1]:
		return next
	}
	return -1
}

// inGap reports whether edge i lies within a compressed stretch.
func (s *scale) inGap(i int) bool {
	for _, q := range s.gaps {
		if q.first < i && i < q.end {
			return true
		}
	}
	return false
}

func (s *scale) drawGap(line row, q gap, g *glyphs) {
	for i := q.first + 1; i < q.end; i++ {
		line.set(i, g.gap, dim)
	}
	unit := time.Second
	if q.to.Sub(q.from) >= time.Hour {
		unit = time.Minute
	}
	label := " " + value.Format(q.to.Sub(q.from).Round(unit)) + " "
	if width := utf8.RuneCountInString(label); width < q.end-q.first {
		line.text(q.first+(q.end-q.first-width+1)/2, label, dim)
	}
}

// Tick returns the first time from t on for a label of an axis whose labels have a distance.
func (r *Run) Tick(t virtual.Time, distance time.Duration) virtual.Time {
	offset := t.Offset()
	if r.Zero != nil {
		offset += *r.Zero
	}
	late := (offset%distance + distance) % distance
	return t.Add((distance - late) % distance)
}

// TickLabel returns the label of a time on an axis that ends at end: the time of day if that of t=0
// is known.
func (r *Run) TickLabel(t, end virtual.Time) string {
	switch {
	case r.Zero != nil:
		return time.Time{}.Add(*r.Zero + t.Offset()).Format("15:04:05.999")
	case end <= virtual.At(10*time.Minute):
		return strconv.FormatFloat(t.Offset().Seconds(), 'f', -1, 64) + "s"
	}
	return value.Format(t.Offset())
}
