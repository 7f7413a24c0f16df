package expect

import (
	"fmt"
	"slices"

	"probesim.dev/internal/podutil"
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

// cause is what a run must have before it can have other records: records of a kind, with one of
// the reasons if there are any.
type cause struct {
	kind    trace.Kind
	reasons []string
	missing string // in words
}

var restarts = []string{"restartKubelet", "rebootNode"}

// causes has the causes of kinds of records, and of reasons of records and statuses.
var causes = map[string]cause{
	string(trace.KubeletStopped): {trace.Step, restarts, "no step stopped the kubelet"},
	string(trace.KubeletStarted): {trace.Step, restarts, "no step restarted the kubelet"},
	string(trace.PodRemoved):     {trace.PodDeleteRequested, nil, "nothing deleted a pod"},
	"Deleted":                    {trace.PodDeleteRequested, nil, "nothing deleted a pod"},
	"Evicted":                    {trace.Step, []string{"evict"}, "no step evicted a pod"},
	"NodeShutdown":               {trace.Step, []string{"shutdownNode"}, "no step shut down the node"},
	"Terminated":                 {trace.Step, []string{"shutdownNode"}, "no step shut down the node"},
	"ImageChanged":               {trace.Step, []string{"patch"}, "no step changed an image"},
	"ContainerProbeChanged":      {trace.Step, []string{"patch"}, "no step changed a probe"},
	"ResizeStarted":              {trace.Step, []string{"resize"}, "no step resized a pod"},
	"ResizeCompleted":            {trace.Step, []string{"resize"}, "no step resized a pod"},
	"ResizeDeferred":             {trace.Step, []string{"resize"}, "no step resized a pod"},
	"ResizeInfeasible":           {trace.Step, []string{"resize"}, "no step resized a pod"},
	"ResizeError":                {trace.Step, []string{"resize"}, "no step resized a pod"},
	"FailedPostStartHook":        {trace.HookStarted, []string{"postStart"}, "no postStart hook ran"},
	"PostStartHookError":         {trace.HookStarted, []string{"postStart"}, "no postStart hook ran"},
	"FailedPreStopHook":          {trace.HookStarted, []string{"preStop"}, "no preStop hook ran"},
}

// empty says why an expectation that held proves nothing: it excludes a record or a status, and the
// run has nothing in its windows that could bring one. It returns "" if the expectation proves
// something.
func (c *checker) empty(e *format.Expect) string {
	none := e.Window().Kind == format.Never || e.Count != nil && e.Count.Max <= 0
	if !none || e.Pods != nil || e.Workload != "" || e.Lost != nil {
		return ""
	}
	why := ""
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
	if missing := c.missingCause(e, key, w); missing != "" {
		return missing
	}
	m := e.Moment()
	if m == nil || m.Record == nil {
		return ""
	}
	if m.Instance != nil && !c.starts(m, key, w) {
		return fmt.Sprintf("instance %s of %s did not run by then", m.Instance, subject(e, &failure{key: key}))
	}
	probe, asked := probesOf(m)
	words := "probe"
	if probe != "" {
		words = string(probe) + " probe"
	}
	switch {
	case !asked && m.Record.Kind == trace.ProbeExecuted && !c.canHaveProbe(e, probe):
		return fmt.Sprintf("%s has no %s", subject(e, &failure{key: key}), words)
	case !asked:
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
	return fmt.Sprintf("no %s of %s ran then", words, subject(e, &failure{key: key}))
}

// canHaveProbe reports whether a container that an expectation is about has a probe, or can get one
// from a step.
func (c *checker) canHaveProbe(e *format.Expect, probe trace.Probe) bool {
	changes := func(s *format.Step) bool { return s.Patch != nil || s.Rollout != nil || s.SetManifest != nil }
	if slices.ContainsFunc(c.scenario.Spec.Steps, changes) {
		return true
	}
	has := func(p podutil.Probe) bool { return probe == "" || p.Key == string(probe) }
	for _, w := range c.scenario.Matching(e.Pod) {
		for c := range podutil.Containers(&w.Pod.Spec) {
			if (e.Container == "" || c.Name == e.Container) && slices.ContainsFunc(podutil.Probes(c), has) {
				return true
			}
		}
	}
	return false
}

// missingCause says which cause of the excluded records or statuses the run of a pod does not have
// by the end of a window, or "".
func (c *checker) missingCause(e *format.Expect, key string, w window) string {
	var words []string
	fields := slices.Concat(e.Status, e.Becomes)
	if e.Record != nil {
		words, fields = append(words, string(e.Record.Kind)), e.Record.Fields
	}
	for _, f := range fields {
		if f.Name == "reason" {
			words = append(words, f.Match.String())
		}
	}
	for _, word := range words {
		needed, known := causes[word]
		has := func(i int) bool {
			rec := &c.index.records[i]
			ofContainer := e.Container == "" || rec.Container == "" || rec.Container == e.Container
			return rec.T <= w.to && ofContainer &&
				(needed.reasons == nil || slices.Contains(needed.reasons, rec.Reason))
		}
		if known && !slices.ContainsFunc(c.index.pod(key).kinds[needed.kind], has) &&
			!slices.ContainsFunc(c.index.node[needed.kind], has) {
			return needed.missing
		}
	}
	return ""
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
			if p := trace.Probe(f.Match.String()); slices.Contains(trace.ProbeTypes[:], p) {
				probe = p
			}
		case "reason":
			switch f.Match.String() {
			case "LivenessProbe":
				probe, asked = trace.Liveness, true
			case "StartupProbe":
				probe, asked = trace.Startup, true
			case "Unhealthy", "ProbeWarning":
				asked = true
			}
		case "result", "message", "took":
			asked = asked || m.Record.Kind == trace.ProbeExecuted
		}
	}
	return probe, asked
}
