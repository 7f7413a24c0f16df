package check

import (
	"maps"
	"slices"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// result is what is known of a container in one version.
type result struct {
	profile.Profile
	container   *container
	done        bool
	bounds      *bounds.Container      // without the probes that can never run
	broken      map[trace.Probe]string // why a probe can never run
	cannotStart bool                   // because of probes that can never run, no figure has a meaning
	rows        map[RowID][]Value
	deleted     Deletion
	restarts    []time.Duration
	share       *float64 // of the starts that succeed, if it is known how long a start takes
	findings    []Finding
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
	r.broken, r.rows = s.brokenProbes(), map[RowID][]Value{}
	r.findings = findBroken(r.broken)
	s.drop(r.broken)
	r.bounds = s.Container
	left := slices.ContainsFunc(trace.ProbeTypes, func(p trace.Probe) bool { return s.Probe(p) != nil })
	if r.cannotStart = !left || r.broken[trace.Startup] != ""; r.cannotStart { // without a success of the startup probe, no other probe runs
		return
	}
	start := time.Duration(0)
	if s.options.Start != nil {
		start = s.options.Start.Max
	}
	for _, row := range rows {
		if _, because := r.brokenFor(row.id); because == "" {
			r.rows[row.id] = Values(s.Container, row.id, start)
		}
	}
	if start := s.options.Start; start != nil && len(r.rows[Start]) > 0 {
		r.share = new(s.StartShare(start.Min, start.Max))
	}
	r.deleted = s.deleted()
	if len(s.StartCases()) > 2 { // it restarts
		r.restarts = s.simulation.restarts()
	}
	for _, look := range finders {
		r.findings = append(r.findings, look(s, r)...)
	}
}

// drop removes probes that can never run.
func (s *subject) drop(broken map[trace.Probe]string) {
	if len(broken) == 0 {
		return
	}
	s.Container = s.Without(slices.Sorted(maps.Keys(broken))...)
	admitted := *s.Admitted
	admitted.Pod = s.Admitted.Pod.DeepCopy()
	s.Admitted = &admitted
	spec := s.spec()
	spec.StartupProbe, spec.LivenessProbe, spec.ReadinessProbe = s.Probe(trace.Startup), s.Probe(trace.Liveness), s.Probe(trace.Readiness)
}

// brokenFor returns a probe that can never run and without which a row of the container has no meaning, and why, if there is one.
func (r *result) brokenFor(id RowID) (p trace.Probe, because string) {
	for _, p := range trace.ProbeTypes {
		if r.broken[p] != "" && id.needs(p, r.container.spec) {
			return p, r.broken[p]
		}
	}
	return "", ""
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
