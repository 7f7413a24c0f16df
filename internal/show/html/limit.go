package html

import (
	"fmt"

	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// maxRecords is the maximum number of marks and bars of a run, which take about 6 MB.
const maxRecords = 60_000

// minSeries is the minimum number of records of a series.
const minSeries = 4

// limit reduces the lanes of pods to room marks and bars if that needs no more than to combine
// consecutive equal probe runs and events to series, and returns notes about omitted records.
func limit(lanes []*lane, room int) []string {
	if size(lanes) <= room {
		return nil
	}
	n := foldAll(lanes)
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Consecutive equal probe runs and events are shown as one mark: %s of them are only "+
		"counted.", printable.Thousands(n))}
}

func size(lanes []*lane) int {
	n := 0
	for _, l := range lanes {
		n += len(l.Records) + len(l.Bars)
	}
	return n
}

// foldAll replaces consecutive equal records by series, and returns the number of omitted records.
// It keeps records that are causes.
func foldAll(lanes []*lane) int {
	causes := map[int64]bool{}
	for _, l := range lanes {
		for _, r := range l.Records {
			if l.Kind != "events" {
				causes[r.Cause] = true
			}
		}
	}
	n := 0
	for _, l := range lanes {
		if l.Kind == "probe" || l.Kind == "events" {
			n += l.fold(causes)
		}
	}
	return n
}

func (l *lane) fold(causes map[int64]bool) int {
	var kept []*trace.Record
	for i := 0; i < len(l.Records); {
		end := i + 1
		for end < len(l.Records) && same(l.Records[i], l.Records[end]) {
			end++
		}
		row := l.Records[i:end]
		i = end
		if len(row) < minSeries {
			kept = append(kept, row...)
			continue
		}
		l.Series = append(l.Series, series{row[0].Step, row[len(row)-1].Step, len(row)})
		for k, r := range row {
			if k == 0 || k == len(row)-1 || causes[r.Step] {
				kept = append(kept, r)
			}
		}
	}
	left := len(l.Records) - len(kept)
	l.Records = kept
	return left
}

func same(a, b *trace.Record) bool {
	return a.Instance == b.Instance && a.Container == b.Container && a.Result == b.Result && a.Reason == b.Reason &&
		a.Message == b.Message
}
