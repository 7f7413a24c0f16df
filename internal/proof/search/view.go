package search

import (
	"cmp"
	"slices"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// view is a part of a trace. Two of its records are equal if their keys are.
type view struct {
	shows func(*trace.Record) bool
	key   func(*trace.Record) string
}

// observable returns the view of the observable records, with or without the details of statuses.
func observable(details bool) view {
	return view{func(r *trace.Record) bool { return r.Kind.Observable() },
		func(r *trace.Record) string { return keyOf(r, details) }}
}

// times returns the times at which any of the traces has records in the view.
func (v view) times(traces ...[]trace.Record) []virtual.Time {
	var all []virtual.Time
	for _, records := range traces {
		for i := range records {
			if v.shows(&records[i]) {
				all = append(all, records[i].T)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// atTime returns the records at a time.
func (v view) atTime(records []trace.Record, t virtual.Time) []trace.Record {
	from, _ := slices.BinarySearchFunc(records, t,
		func(r trace.Record, t virtual.Time) int { return cmp.Compare(r.T, t) })
	var list []trace.Record
	for _, r := range records[from:] {
		if r.T != t {
			break
		}
		if v.shows(&r) {
			list = append(list, r)
		}
	}
	return list
}

// without returns the records that have no equal in others.
func (v view) without(records, others []trace.Record) []trace.Record {
	count := map[string]int{}
	for i := range others {
		count[v.key(&others[i])]++
	}
	var left []trace.Record
	for i := range records {
		key := v.key(&records[i])
		if count[key]--; count[key] < 0 {
			left = append(left, records[i])
		}
	}
	return left
}
