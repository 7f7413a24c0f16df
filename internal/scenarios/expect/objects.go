package expect

import (
	"fmt"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// workloadRecords returns the records of the state of an object.
func (c *checker) workloadRecords(object string) []int {
	var list []int
	for _, i := range c.index.node[trace.WorkloadChanged] {
		if o := c.index.records[i].Object; o.Name == object && o.Workload != nil {
			list = append(list, i)
		}
	}
	return list
}

// workloadSignal returns the times at which the state of a Deployment matches.
func (c *checker) workloadSignal(f match.Fields, object string) signal {
	var s signal
	for _, i := range c.workloadRecords(object) {
		s.set(c.index.at(i), f.Workload(c.index.records[i].Object.Workload), i)
	}
	return s
}

// workloadMoments returns the changes of a Deployment from no match to a match. Its first state is
// not a change.
func (c *checker) workloadMoments(f match.Fields, object string) []int {
	var list []int
	held := true
	for _, i := range c.workloadRecords(object) {
		now := f.Workload(c.index.records[i].Object.Workload)
		if now && !held {
			list = append(list, i)
		}
		held = now
	}
	return list
}

// workloadWords describes the fields of an expectation at t.
func (c *checker) workloadWords(f match.Fields, object string, t virtual.Time) string {
	var w *trace.Workload
	for _, i := range c.workloadRecords(object) {
		if c.index.at(i) <= t {
			w = c.index.records[i].Object.Workload
		}
	}
	if w == nil {
		return "no Deployment"
	}
	return "{" + strings.Join(printable.Words(f, func(field match.Field) string {
		v, _ := match.LookupWorkload(w, field.Name)
		return field.Name + ": " + v.String()
	}), ", ") + "}"
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
