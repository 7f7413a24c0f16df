package check

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/bounds"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// result is what is known of a container in one version.
type result struct {
	version     string
	bounds      *bounds.Container // without the probes that can never run
	rows        map[RowID][]Value
	deleted     Deletion
	restarts    []time.Duration
	share       *float64 // of the starts that succeed, if it is known how long a start takes
	findings    []finding
	cannotStart bool // because of probes that can never run, no figure has a meaning
	err         error
}

// subject is a container in a version.
type subject struct {
	*bounds.Container // without the probes that can never run
	simulation
	options   *Options
	container *container
}

// measure computes all rows of a container.
func (r *result) measure(s *subject) {
	r.rows = map[RowID][]Value{}
	r.findings = s.findBroken()
	s.drop(r.broken())
	r.bounds = s.Container
	left := slices.ContainsFunc(trace.ProbeTypes, func(p trace.Probe) bool { return s.Probe(p) != nil })
	if r.cannotStart = !left || slices.Contains(r.broken(), trace.Startup); r.cannotStart { // without a success of the startup probe, no other probe runs
		return
	}
	for _, row := range rows {
		if r.brokenFor(row.id, s.container.spec) == nil {
			r.rows[row.id] = Values(s.Container, row.id, s.options.longestStart())
		}
	}
	if start := s.options.Start; start != nil && len(r.rows[Start]) > 0 {
		r.share = new(s.StartShare(start.Min, start.Max))
	}
	r.deleted = s.deleted()
	if len(s.StartCases()) > 2 { // it restarts
		r.restarts = s.simulation.restarts()
	}
	r.findings = append(r.findings, find(s, r)...)
}

// drop removes probes that can never run.
func (s *subject) drop(probes []trace.Probe) {
	if len(probes) == 0 {
		return
	}
	s.Container = s.Without(probes...)
	admitted := *s.Admitted
	admitted.Pod = s.Admitted.Pod.DeepCopy()
	spec := podutil.Find(admitted.Pod, s.simulation.container)
	spec.StartupProbe, spec.LivenessProbe, spec.ReadinessProbe = s.Probe(trace.Startup), s.Probe(trace.Liveness), s.Probe(trace.Readiness)
	s.Admitted = &admitted
}

// longestStart is the longest known start of the programs, or 0.
func (o *Options) longestStart() time.Duration {
	if o.Start == nil {
		return 0
	}
	return o.Start.Max
}

// broken returns the probes that can never run.
func (r *result) broken() []trace.Probe {
	var list []trace.Probe
	for _, f := range r.findings {
		if f.ID == BrokenProbe {
			list = append(list, f.broken)
		}
	}
	return list
}

// brokenFor returns the finding about a probe that can never run and without which a row of a container has no meaning, or nil.
func (r *result) brokenFor(id RowID, c *v1.Container) *finding {
	for i := range r.findings {
		if f := &r.findings[i]; f.ID == BrokenProbe && id.needs(f.broken, c) {
			return f
		}
	}
	return nil
}

// all returns the range of a row over its cases. It is zero if there is no such row.
func (r *result) all(id RowID) bounds.Range {
	return all(r.rows[id]).Range
}

// all returns the range of some values, and the mean of the last one that has one.
func all(values []Value) (a bounds.Time) {
	for i, v := range values {
		if i == 0 {
			a = v.Time
		}
		a.Range = a.Or(v.Range)
		if v.Mean > 0 {
			a.Mean = v.Mean
		}
	}
	return a
}
