package html

import (
	"fmt"
	"slices"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// maxRecords is the maximum number of marks and bars of a run, which take about 6 MB.
const maxRecords = 60_000

// minSeries is the minimum number of records of a series.
const minSeries = 4

// limit reduces the lanes of pods to room marks and bars, and returns notes about omitted records.
// First it combines consecutive equal probe runs and events to series. If that is not enough, the
// lanes end early.
func limit(lanes []*lane, end virtual.Time, room int) []string {
	if size(lanes) <= room {
		return nil
	}
	var notes []string
	if n := foldAll(lanes); n > 0 {
		notes = append(notes, fmt.Sprintf("Consecutive equal probe runs and events are shown as one mark: %s of them "+
			"are only counted.", printable.Thousands(n)))
	}
	if size(lanes) <= room {
		return notes
	}
	return append(notes, fmt.Sprintf("The lanes end at %s, because the run is too large for one page. To see "+
		"everything, use a shorter --until, fewer pods, or -o jsonl.", trace.FormatTime(cutLanes(lanes, room, end))))
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

// cutLanes ends lanes after maxSize of their marks and bars, and returns the time of the end.
func cutLanes(lanes []*lane, maxSize int, end virtual.Time) virtual.Time {
	var times []virtual.Time
	for _, l := range lanes {
		for _, r := range l.Records {
			times = append(times, r.T)
		}
		for _, b := range l.Bars {
			times = append(times, b.From)
		}
	}
	slices.Sort(times)
	at := times[maxSize]
	for _, l := range lanes {
		l.cut(at, end)
	}
	return at
}

func (l *lane) cut(at, end virtual.Time) {
	n := len(l.Records)
	for n > 0 && l.Records[n-1].T >= at {
		n--
	}
	l.Records = l.Records[:n]
	if len(l.Labels) > n {
		l.Labels = l.Labels[:n]
	}
	l.Bars = slices.DeleteFunc(l.Bars, func(b report.Bar) bool { return b.From >= at })
	for i := range l.Bars {
		l.Bars[i].To = min(l.Bars[i].To, at)
	}
	l.Series = slices.DeleteFunc(l.Series, func(s series) bool { return !l.has(s.First) })
	for i := range l.Series {
		if s := &l.Series[i]; !l.has(s.Last) {
			s.Last, s.Count = 0, 0
		}
	}
	if l.Kind != "pod" && l.Kind != "exits" {
		l.Bars = append(l.Bars, report.Bar{From: at, To: end, State: "cut", Text: "not on this page"})
	}
}

func (l *lane) has(step int64) bool {
	_, found := slices.BinarySearchFunc(l.Records, step,
		func(r *trace.Record, step int64) int { return int(r.Step - step) })
	return found
}
