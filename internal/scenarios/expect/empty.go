package expect

import (
	"fmt"
	"slices"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// open reports whether an expectation that held could still have failed in the missing time of a
// run that was cut short: it says that something never happens, always holds, or happens at most so
// often, until after the end of the run.
func (c *checker) open(e *format.Expect) bool {
	w := e.Window()
	limits := w.Kind == format.Never || w.Kind == format.Always || e.Count != nil && e.Count.Max < value.OpenMax
	if e.Since != nil {
		return limits && w.Max == value.OpenMaxTime
	}
	return limits && virtual.At(w.Max) > c.run.End
}

// empty says why an expectation that held proves nothing: it excludes a record, and the run has
// nothing in its windows that such a record could be about. It returns "" if the expectation proves
// something.
func (c *checker) empty(e *format.Expect) string {
	m := e.Moment()
	none := e.Window().Kind == format.Never || e.Count != nil && e.Count.Max <= 0
	if m == nil || m.Record == nil || !none || e.Pods != nil {
		return ""
	}
	why := c.misspelled(m)
	if why != "" {
		return why
	}
	for _, one := range e.Each() {
		for _, key := range c.subjects(one) {
			for _, w := range c.windows(one, key, &failures{checker: c, expect: one}) {
				if why = c.nothingIn(one, key, w); why == "" {
					return ""
				}
			}
		}
	}
	return why
}

// nothingIn says what the run of a pod lacks in a window for a record that an expectation excludes,
// or "".
func (c *checker) nothingIn(e *format.Expect, key string, w window) string {
	m := e.Moment()
	if m.Instance != nil && !c.starts(m, key, w) {
		return fmt.Sprintf("instance %s of %s did not run by then", m.Instance, subject(e, &failure{key: key}))
	}
	probe, asked := probesOf(m)
	if !asked {
		return ""
	}
	ran := slices.ContainsFunc(c.inside(c.index.pod(key).kinds[trace.ProbeExecuted], w), func(i int) bool {
		rec := &c.index.records[i]
		return (m.Container == "" || rec.Container == m.Container) && (probe == "" || rec.Probe == probe) &&
			(m.Instance == nil || m.Instance.Contains(rec.Instance))
	})
	if ran {
		return ""
	}
	if probe != "" {
		probe += " "
	}
	return fmt.Sprintf("no %sprobe of %s ran then", probe, subject(e, &failure{key: key}))
}

// starts reports whether an instance that a moment names has started by the end of a window.
func (c *checker) starts(m *match.Moment, key string, w window) bool {
	return slices.ContainsFunc(c.index.pod(key).kinds[trace.ContainerStarted], func(i int) bool {
		rec := &c.index.records[i]
		return rec.T <= w.to && (m.Container == "" || rec.Container == m.Container) && m.Instance.Contains(rec.Instance)
	})
}

// probesOf reports whether records that a moment matches are about how runs of probes end, and of
// which probe: empty means any. A moment that matches all runs of a probe excludes the runs
// themselves.
func probesOf(m *match.Moment) (probe trace.Probe, asked bool) {
	for _, f := range m.Record.Fields {
		switch f.Name {
		case "probe":
			for _, p := range trace.ProbeTypes {
				if f.Match.String() == string(p) {
					probe = p
				}
			}
		case "reason":
			asked = asked || m.Record.Kind == trace.Event && f.Match.String() == "Unhealthy"
		case "result", "message", "took":
			asked = asked || m.Record.Kind == trace.ProbeExecuted
		}
	}
	return probe, asked
}
