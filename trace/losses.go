package trace

import (
	"math"
	"time"

	"probesim.dev/sim/virtual"
)

// LossSpan is a time in which requests are lost. From and To are equal if all are lost at one
// instant. That nothing has ever served is known only at its end.
type LossSpan struct {
	From, To virtual.Time
	Rate     float64 // requests that are lost a second, or at the instant
	Lost     float64
	// indexes of its first and last record, which are the same if it goes on at the end, at an
	// instant, and if nothing has ever served
	First, Last int
}

// Losses returns the losses of a run that ends at end, in the order of their first records.
func Losses(records []Record, end virtual.Time) []LossSpan {
	var list []LossSpan
	var open []int // indexes of those that go on
	for i := range records {
		r := &records[i]
		if r.Kind != LossStarted && r.Kind != LossEnded {
			continue
		}
		l := r.Object.Loss
		rate := l.Rate * float64(l.One) / float64(l.Of)
		if r.Kind == LossStarted {
			open = append(open, len(list))
			list = append(list, LossSpan{From: r.T, To: max(end, r.T), Rate: rate,
				Lost: rate * max(0, end.Sub(r.T)).Seconds(), First: i, Last: i})
			continue
		}
		k := len(open) - 1
		for ; k >= 0 && !r.ends(&records[list[open[k]].First]); k-- {
		}
		if k < 0 {
			of := LossSpan{From: r.T.Add(-r.Took), To: r.T, Rate: l.Lost, Lost: l.Lost, First: i, Last: i}
			if r.Took > 0 {
				of.Rate = rate
			}
			list = append(list, of)
			continue
		}
		of := &list[open[k]]
		of.To, of.Lost, of.Last = r.T, l.Lost, i
		if mean := l.Lost / r.Took.Seconds(); r.Took > 0 && math.Abs(mean-rate) > 1e-6 { // over kept connections
			of.Rate = mean
		}
		open = append(open[:k], open[k+1:]...)
	}
	return list
}

// ends reports whether a LossEnded record is about the loss that began with a record.
func (r *Record) ends(began *Record) bool {
	return began.Object.Name == r.Object.Name && began.Object.Loss.Router == r.Object.Loss.Router &&
		began.Pod == r.Pod && began.Reason == r.Reason &&
		began.T == r.T.Add(-r.Took)
}

// In returns how many requests the loss loses in a time, both ends included.
func (l *LossSpan) In(from, to virtual.Time) float64 {
	if l.From == l.To {
		if l.From >= from && l.From <= to {
			return l.Lost
		}
		return 0
	}
	return l.Rate * max(0, time.Duration(min(l.To, to).Sub(max(l.From, from)))).Seconds()
}
