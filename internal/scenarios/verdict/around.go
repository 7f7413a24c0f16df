package verdict

import (
	"slices"
	"time"

	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
)

// shown is the time that a timeline shows before a failure. It shows at least as much time after
// the failure, unless the run ends earlier.
const shown = 40 * time.Second

// Around returns the part of a run to show around a moment. The run ends at end.
func Around(t, end virtual.Time) (from, to virtual.Time) {
	start := max(0, min(t, end).Add(-shown))
	from = virtual.At(start.Offset().Truncate(time.Second))
	return from, min(end, from.Add(2*shown))
}

// part is a part of a run that a message shows.
type part struct{ from, to virtual.Time }

// maxParts is the number of parts of a run that a message shows.
const maxParts = 3

// parts returns the parts of a run that show the moments of its failures.
func parts(run *report.Run) []part {
	var list []part
	for _, t := range moments(run.Expectations) {
		within := func(p part) bool { return p.from <= t && t <= p.to }
		if len(list) < maxParts && !slices.ContainsFunc(list, within) {
			from, to := Around(t, run.Until)
			list = append(list, part{from, to})
		}
	}
	return list
}

// moments returns the virtual times of failures: the time of the marked record, or of the middle
// one of those around it.
func moments(all []report.Expectation) []virtual.Time {
	var list []virtual.Time
	for i := range all {
		for _, f := range all[i].Failures {
			if len(f.Around) == 0 {
				continue
			}
			middle := f.Around[len(f.Around)/2]
			for _, l := range slices.Backward(f.Around) {
				if l.Mark {
					middle = l
				}
			}
			list = append(list, middle.Record.T)
		}
	}
	return list
}
