package ginkgokit

import (
	"slices"
	"time"

	"probesim.dev/report"
)

// shown is how much of a run is shown before and after the moment of a failure.
const shown = 40 * time.Second

// around returns the part of a run that ends at a time that is shown around a moment.
func around(t, end time.Duration) (from, to time.Duration) {
	from = max(0, min(t, end)-shown).Truncate(time.Second)
	return from, min(end, from+2*shown)
}

// part is a part of a run that is shown.
type part struct{ from, to time.Duration }

// maxParts is how many parts of a run are shown.
const maxParts = 3

// parts returns the parts of a run that show the moments of its failures.
func parts(run *report.Run) []part {
	var list []part
	for _, t := range moments(run.Expectations) {
		within := func(p part) bool { return p.from <= t && t <= p.to }
		if len(list) < maxParts && !slices.ContainsFunc(list, within) {
			from, to := around(t, run.Until)
			list = append(list, part{from, to})
		}
	}
	return list
}

// moments returns the moments of failures: of each that of the record that is the failure, or else one in the middle of
// those around it.
func moments(all []report.Expectation) []time.Duration {
	var list []time.Duration
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
