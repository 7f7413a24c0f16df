package explore

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// instant is what happened at one time, whatever the order.
type instant struct {
	t    virtual.Time
	text string
}

// line is one thing that happened.
type line struct {
	t    virtual.Time
	text string
}

// instants groups what happened before until by time: the observable records, and, unless these alone count, that
// probe workers took manual triggers and that requeues were drawn. Triggers come after the rest of their instant, so that a
// run that has all but them right has come further than one that has not.
func (f *follower) instants(records []trace.Record, requeues []virtual.Time, until virtual.Time) []instant {
	var lines []line
	for i := range records {
		r := &records[i]
		switch {
		case r.T >= until:
		case r.Kind.Observable():
			lines = append(lines, line{r.T, string(trace.AppendObserved(nil, r))})
		case r.Kind == trace.TriggerTaken && !f.onlyRecords:
			lines = append(lines, line{r.T.Add(time.Nanosecond), string(trace.AppendObserved(nil, r))})
		}
	}
	for _, t := range requeues {
		if t < until && !f.onlyRecords {
			lines = append(lines, line{t, "requeue"})
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.t, b.t), strings.Compare(a.text, b.text)) })
	var list []instant
	for _, l := range lines {
		if n := len(list); n > 0 && list[n-1].t == l.t {
			list[n-1].text += "\n" + l.text
			continue
		}
		list = append(list, instant(l))
	}
	return list
}
