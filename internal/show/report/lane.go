package report

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/history"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// draw draws a lane.
func (d *drawing) draw(l *Lane) row {
	switch {
	case l.Kind == "node" || l.Kind == "pod":
		return d.marks(l.Marks)
	case l.Empty != "":
		r := make(row, d.o.Columns()-d.gutter)
		r.text(max(0, min(d.scale.column(l.From), len(r)-len(l.Empty))), l.Empty, dim)
		return r
	case l.Kind == "level" || l.Kind == "set" || l.Kind == "wanted":
		return d.level(l)
	case l.Kind == "lost":
		return d.losses(l)
	case l.Kind == "probe":
		return d.probe(l)
	case l.Kind == "life":
		return d.life(l)
	case l.Kind == "rule":
		r := make(row, d.scale.columns())
		d.fill(r, l, warn, d.g.window, "window")
		return r
	case l.Actions != nil:
		return d.actions(l)
	}
	return d.condition(l)
}

// condition draws a condition. A column with a change shows its direction, or that there are
// several changes.
func (d *drawing) condition(l *Lane) row {
	r := make(row, d.scale.columns())
	values := make([]int, len(r)) // number of values in each column
	for _, b := range l.Bars {
		if b.State == "unknown" {
			continue
		}
		first, past := d.scale.span(b.From, b.To)
		for c := first; c < past; c++ {
			values[c]++
			r[c] = conditionCell(d.g, b.State == "yes", values[c])
		}
	}
	d.hatch(r, l)
	return r
}

func conditionCell(g *glyphs, on bool, values int) cell {
	switch {
	case values > 2:
		return cell{g.both, warn}
	case values == 2 && on:
		return cell{g.up, good}
	case values == 2:
		return cell{g.down, warn}
	case on:
		return cell{g.yes, good}
	}
	return cell{g.no, dim}
}

// probe draws a mark for each probe run. If a column has several, the worst result counts.
func (d *drawing) probe(l *Lane) row {
	s, g, r := d.scale, d.g, make(row, d.scale.columns())
	d.hatch(r, l)
	counts := make([]struct{ all, failed, broken, warned int }, len(r))
	for _, p := range l.Records {
		if p.T < s.from() || p.T > s.until() {
			continue
		}
		n := &counts[s.column(p.T)]
		n.all++
		switch p.Result {
		case trace.Failure:
			n.failed++
		case trace.Error:
			n.broken++
		case trace.Warning:
			n.warned++
		}
	}
	for i, n := range counts {
		switch {
		case n.all == 0:
		case n.failed == n.all:
			r.set(i, g.failed, bad)
		case n.failed > 0:
			r.set(i, g.someFailed, bad)
		case n.broken > 0:
			r.set(i, g.broken, warn)
		case n.warned > 0:
			r.set(i, g.warning, warn)
		case n.all > 1:
			r.set(i, g.successes, good)
		default:
			r.set(i, g.success, good)
		}
	}
	return r
}

// life draws the life of a container: waiting, running, stop pending, stopping and exits. The
// number of each instance appears at its start if there is room.
func (d *drawing) life(l *Lane) row {
	g, r := d.g, make(row, d.scale.columns())
	d.fill(r, l, dim, g.waiting, "waiting")
	d.fill(r, l, good, g.running, history.Running, history.Killing, history.Stopping)
	for _, b := range l.Bars {
		// Usually the stop signal follows immediately. Draw only delays of at least a second, such
		// as the delay of a preStop hook.
		if b.State == history.Killing && b.To.Sub(b.From) >= time.Second {
			r.fill(d.scale, b.From, b.To, cell{g.killing, warn})
		}
	}
	d.fill(r, l, warn, g.stopping, history.Stopping)
	for _, b := range l.Bars {
		first, past := d.scale.span(b.From, b.To)
		if b.Text != "" && b.State != history.Running && utf8.RuneCountInString(b.Text)+6 <= past-first {
			r.text(first+2, " "+b.Text+" ", dim)
		}
	}
	d.hatch(r, l)
	r.exits(d.scale, g, l.History.Runs)
	r.numbers(d.scale, g, l.History.Runs)
	return r
}

// fill draws the bars of a lane that have one of some states.
func (d *drawing) fill(r row, l *Lane, style document.Style, glyph rune, states ...string) {
	for _, b := range l.Bars {
		if slices.Contains(states, b.State) {
			r.fill(d.scale, b.From, b.To, cell{glyph, style})
		}
	}
}

// actions draws actions, with a mark at the end of those that fail.
func (d *drawing) actions(l *Lane) row {
	r := make(row, d.scale.columns())
	d.fill(r, l, warn, d.g.busy, "busy")
	for i := range l.Actions {
		if a := &l.Actions[i]; a.Failed() && a.To >= d.scale.from() && a.To <= d.scale.until() {
			r.set(d.scale.column(a.To), d.g.failed, bad)
		}
	}
	return r
}

// hatch marks the columns about which a recording tells nothing, all of whose time is within the
// spans, and blank columns in part of them.
func (d *drawing) hatch(r row, l *Lane) {
	s := d.scale
	for _, b := range l.Bars {
		if b.State != "unknown" {
			continue
		}
		first, past := s.span(b.From, b.To)
		for i := first; i < past; i++ {
			if s.edges[i] >= b.From && (s.edges[i+1] <= b.To || b.To >= s.end) || r[i].r == 0 {
				r[i] = cell{d.g.unknown, dim}
			}
		}
	}
}

func (r row) fill(s *scale, from, to virtual.Time, c cell) {
	first, past := s.span(from, to)
	for i := first; i < past; i++ {
		r[i] = c
	}
}

func (r row) exits(s *scale, g *glyphs, runs []history.Instance) {
	for _, run := range runs {
		if run.Exited < s.from() || run.Exited > s.until() || run.Vague {
			continue
		}
		i := s.column(run.Exited)
		if run.Code != 0 {
			r.set(i, g.exit, bad)
		} else if r[i].r != g.exit {
			r.set(i, g.done, dim)
		}
	}
}

// numbers writes the number of each instance at the start of its bar, or of the part of its bar
// that is in the chart.
func (r row) numbers(s *scale, g *glyphs, runs []history.Instance) {
	for _, run := range runs {
		if run.Exited <= s.from() || run.Started > s.until() {
			continue
		}
		i := s.column(max(run.Started, s.from()))
		alive := []rune{g.running, g.killing, g.stopping}
		if !slices.Contains(alive, r[i].r) {
			i++ // the previous instance exited in this column
		}
		number := strconv.Itoa(run.Number)
		if i >= len(r) || !slices.Contains(alive, r[i].r) || !r.all(i, i+len(number), r[i].r) {
			continue
		}
		r.text(i, number, bold)
	}
}

// all reports whether the cells [from, to) exist and all contain the character c; 0 stands for
// blank.
func (r row) all(from, to int, c rune) bool {
	if from < 0 || to > len(r) {
		return false
	}
	for _, cell := range r[from:to] {
		if cell.r != c {
			return false
		}
	}
	return true
}
