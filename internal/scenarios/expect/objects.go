package expect

import (
	"fmt"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// workloadMoments returns the changes of a Deployment from no match to a match. Its first state is
// not a change.
func (c *checker) workloadMoments(f match.Fields, object string) []int {
	var list []int
	held := true
	for _, i := range c.index.pod(object).statuses {
		now := f.Workload(c.index.records[i].Object.Workload)
		if now && !held {
			list = append(list, i)
		}
		held = now
	}
	return list
}

// lost checks how many requests to a Service are lost in each window.
func (c *checker) lost(e *format.Expect, f *failures) {
	key := "Service " + c.scenario.Service(e.Service).Key()
	for _, w := range c.windows(e, "", f) {
		from, to := w.instants()
		n, records := c.lossesIn(key, from, to)
		tooMany := e.Lost.Max != value.OpenMax && n > float64(e.Lost.Max)
		if tooMany || e.Lost.Min != value.OpenMin && n < float64(e.Lost.Min) {
			kind := TooFew
			if tooMany {
				kind = TooMany
			}
			f.add(failure{kind: kind, key: key, window: w, center: to, marks: records, undecided: w.open && !tooMany,
				got: func() string { return c.lossWords(n, records) }})
		}
	}
}

// lossesIn returns the number of requests to a Service that are lost in a time, and the records of
// these losses.
func (c *checker) lossesIn(key string, from, to virtual.Time) (sum float64, records []int) {
	for _, l := range trace.Losses(c.index.records, c.run.End) {
		if n := l.In(from, to); n > 0 && c.index.records[l.First].Object.Name == key {
			sum, records = sum+n, append(records, l.Last)
		}
	}
	return sum, records
}

func (c *checker) lossWords(n float64, records []int) string {
	if len(records) == 0 {
		return "none lost"
	}
	return fmt.Sprintf("%.1f lost, at %s", n, c.times(records))
}
