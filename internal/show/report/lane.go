package report

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/history"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// conditionLane draws a condition from its first known value to end. A column with a change shows
// its direction, or that there are several changes.
func conditionLane(s *scale, g *glyphs, flips []history.Flip, end virtual.Time) row {
	r := make(row, s.columns())
	values := make([]int, len(r)) // number of values in each column
	for i, f := range flips {
		to := end
		if i+1 < len(flips) {
			to = min(end, flips[i+1].At)
		}
		first, past := s.span(f.At, to)
		for c := first; c < past; c++ {
			values[c]++
			r[c] = conditionCell(g, f.On, values[c])
		}
	}
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

// probeLane draws a mark for each probe run. If a column has several, the worst result counts.
func probeLane(s *scale, g *glyphs, runs []*trace.Record, unknown []history.Span) row {
	r := make(row, s.columns())
	r.hatch(s, g, unknown)
	counts := make([]struct{ all, failed, broken, warned int }, len(r))
	for _, p := range runs {
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

// lifeLane draws the life of a container: waiting, running, stop pending, stopping and exits. The
// number of each instance appears at its start if there is room.
func lifeLane(s *scale, g *glyphs, c *history.Container, p *history.Pod, end virtual.Time) row {
	r := make(row, s.columns())
	end = min(end, p.Removed)
	waitFrom := max(p.Added, c.Added)
	for i := range c.Runs {
		run := &c.Runs[i]
		r.wait(s, g, c, waitFrom, run.Started)
		waitFrom = run.Exited
	}
	if waitFrom < end {
		r.wait(s, g, c, waitFrom, end)
	}
	for i := range c.Runs {
		r.fill(s, c.Runs[i].Started, min(c.Runs[i].Exited, end), cell{g.running, good})
	}
	for i := range c.Runs {
		// Usually the stop signal follows immediately. Draw only delays of at least a second, such
		// as the delay of a preStop hook.
		if run := &c.Runs[i]; run.Killing != history.Forever &&
			min(run.Stopping, run.Exited, end).Sub(run.Killing) >= time.Second {
			r.fill(s, run.Killing, min(run.Stopping, run.Exited, end), cell{g.killing, warn})
		}
	}
	for i := range c.Runs {
		r.fill(s, c.Runs[i].Stopping, min(c.Runs[i].Exited, end), cell{g.stopping, warn})
	}
	r.hatch(s, g, c.Unknown[history.LaneLife])
	r.exits(s, g, c.Runs)
	r.numbers(s, g, c.Runs)
	return r
}

// actionLane draws actions, with a mark at the end of those that fail.
func actionLane(s *scale, g *glyphs, actions []history.Action, end virtual.Time) row {
	r := make(row, s.columns())
	for i := range actions {
		r.fill(s, actions[i].From, actions[i].Until(end), cell{g.busy, warn})
	}
	for i := range actions {
		if a := &actions[i]; a.Failed() && a.To >= s.from() && a.To <= s.until() {
			r.set(s.column(a.To), g.failed, bad)
		}
	}
	return r
}

// hatch marks the columns about which a recording tells nothing, all of whose time is within the
// spans, and blank columns in part of them.
func (r row) hatch(s *scale, g *glyphs, spans []history.Span) {
	for _, u := range spans {
		first, past := s.span(u.From, u.To)
		for i := first; i < past; i++ {
			if s.edges[i] >= u.From && (s.edges[i+1] <= u.To || u.To >= s.end) || r[i].r == 0 {
				r[i] = cell{g.unknown, dim}
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

// wait draws the time between two instances, with the reason from the status if there is room.
func (r row) wait(s *scale, g *glyphs, c *history.Container, from, to virtual.Time) {
	why := c.WaitReason(from, to)
	if why.Name == "waiting" {
		r.fill(s, from, to, cell{g.waiting, dim})
	}
	first, past := s.span(from, to)
	text := " " + printable.Text(why.Reason) + " "
	if why.Reason != "" && utf8.RuneCountInString(text)+4 <= past-first {
		r.text(first+2, text, dim)
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
