package report

import (
	"strconv"
	"time"
	"unicode/utf8"

	"probesim.dev/sim/trace"
)

// conditionLane draws a condition from when it is first known to end. A column in which it changes
// shows the direction, or that it had both values.
func conditionLane(s *scale, g *glyphs, flips []flip, end time.Duration) row {
	r := make(row, s.columns())
	was := make([]int, len(r)) // how many values the column has seen
	for i, f := range flips {
		to := end
		if i+1 < len(flips) {
			to = min(end, flips[i+1].at)
		}
		first, past := s.span(f.at, to)
		for c := first; c < past; c++ {
			was[c]++
			r[c] = conditionCell(g, f.on, was[c])
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

// probeLane draws a mark for each probe run; of several in a column the worst.
func probeLane(s *scale, g *glyphs, shots []shot) row {
	r := make(row, s.columns())
	counts := make([]struct{ all, failed, broken, warned int }, len(r))
	for _, p := range shots {
		if p.at < s.from() || p.at > s.until() {
			continue
		}
		n := &counts[s.column(p.at)]
		n.all++
		switch p.result {
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

// lifeLane draws when a container waits, runs, is to be stopped, is being stopped and exits. Each instance has its number
// where it starts, if there is room.
func lifeLane(s *scale, g *glyphs, c *containerHistory, p *podHistory, end time.Duration) row {
	r := make(row, s.columns())
	end = min(end, p.removed)
	waitFrom := p.added
	for i := range c.runs {
		run := &c.runs[i]
		r.wait(s, g, c, waitFrom, run.started)
		waitFrom = run.exited
	}
	if waitFrom < end {
		r.wait(s, g, c, waitFrom, end)
	}
	for i := range c.runs {
		r.fill(s, c.runs[i].started, min(c.runs[i].exited, end), cell{g.running, good})
	}
	for i := range c.runs {
		// The stop signal follows at once, but for hooks and turns, of which only whole seconds count.
		if run := &c.runs[i]; run.killing != forever && min(run.stopping, run.exited, end)-run.killing >= time.Second {
			r.fill(s, run.killing, min(run.stopping, run.exited, end), cell{g.killing, warn})
		}
	}
	for i := range c.runs {
		r.fill(s, c.runs[i].stopping, min(c.runs[i].exited, end), cell{g.stopping, warn})
	}
	r.exits(s, g, c.runs)
	r.numbers(s, g, c.runs)
	return r
}

func (r row) fill(s *scale, from, to time.Duration, c cell) {
	first, past := s.span(from, to)
	for i := first; i < past; i++ {
		r[i] = c
	}
}

// wait draws the time between two instances, with the reason that the status gives if there is room.
func (r row) wait(s *scale, g *glyphs, c *containerHistory, from, to time.Duration) {
	why := c.reasonWithin(from, to)
	if why.name == "waiting" {
		r.fill(s, from, to, cell{g.waiting, dim})
	}
	first, past := s.span(from, to)
	text := " " + trace.Clean(why.reason) + " "
	if why.reason != "" && utf8.RuneCountInString(text)+4 <= past-first {
		r.text(first+2, text, dim)
	}
}

// reasonWithin returns the last state of [from, to) other than running; waiting goes before the rest.
func (c *containerHistory) reasonWithin(from, to time.Duration) state {
	var found state
	for _, st := range c.states {
		if st.at < from || st.at >= to || st.name == "running" {
			continue
		}
		if st.name == "waiting" || found.name != "waiting" {
			found = st
		}
	}
	return found
}

func (r row) exits(s *scale, g *glyphs, runs []instance) {
	for _, run := range runs {
		if run.exited < s.from() || run.exited > s.until() {
			continue
		}
		i := s.column(run.exited)
		if run.code != 0 {
			r.set(i, g.exit, bad)
		} else if r[i].r != g.exit {
			r.set(i, g.done, dim)
		}
	}
}

// numbers writes the number of each instance over the beginning of its bar.
func (r row) numbers(s *scale, g *glyphs, runs []instance) {
	for _, run := range runs {
		if run.started < s.from() || run.started > s.until() {
			continue
		}
		i := s.column(run.started)
		if r[i].r != g.running {
			i++ // the last instance exited in this column
		}
		number := strconv.Itoa(run.number)
		if !r.all(i, i+len(number), g.running) {
			continue
		}
		r.text(i, number, bold)
	}
}

// all reports whether the cells [from, to) are there and have all the same character; 0 is blank.
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
