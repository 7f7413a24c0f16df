package search

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// instant is everything that happened at one time, in a canonical order.
type instant struct {
	t    virtual.Time
	text string
}

// keyOf returns the part of a record to compare, with or without the details of a status.
func keyOf(r *trace.Record, details bool) string {
	if details {
		return string(trace.AppendDetailed(nil, r))
	}
	return string(trace.AppendObserved(nil, r))
}

// hasDetails reports whether the statuses of a trace have their details.
func hasDetails(records []trace.Record) bool {
	return slices.ContainsFunc(records, func(r trace.Record) bool { return r.Status != nil && r.Status.Details != nil })
}

// instants groups the observable records before until by time. Unless only records count, it adds
// the manual triggers that probe workers took and the requeues. Triggers sort after the rest of
// their instant: a run that has everything right except for a trigger gets further than one that
// does not.
func (f *follower) instants(records []trace.Record, requeues []virtual.Time, until virtual.Time) []instant {
	var lines []instant // one record or event each
	for i := range records {
		r := &records[i]
		switch {
		case r.T >= until:
		case r.Kind.Observable():
			lines = append(lines, instant{r.T, keyOf(r, f.details)})
		case r.Kind == trace.TriggerTaken && !f.onlyRecords:
			same := *r
			same.Instance = 0 // the real kubelet's records do not know it
			lines = append(lines, instant{r.T.Add(time.Nanosecond), keyOf(&same, f.details)})
		}
	}
	for _, t := range requeues {
		if t < until && !f.onlyRecords {
			lines = append(lines, instant{t, "requeue"})
		}
	}
	slices.SortFunc(lines,
		func(a, b instant) int { return cmp.Or(cmp.Compare(a.t, b.t), strings.Compare(a.text, b.text)) })
	var list []instant
	for _, l := range lines {
		if n := len(list); n > 0 && list[n-1].t == l.t {
			list[n-1].text += "\n" + l.text
			continue
		}
		list = append(list, l)
	}
	return list
}
