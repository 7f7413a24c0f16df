package check

import (
	"maps"
	"slices"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// result is what is known of a container in one version. Without a simulation and bounds, it is not
// done, or has an error.
type result struct {
	profile           profile.Profile
	options           *Options
	container         *container
	*bounds.Container // without the probes that can never run
	simulation

	done        bool
	broken      map[trace.Probe]string // why a probe can never run
	cannotStart bool                   // because of probes that can never run, no figure has a meaning
	rows        map[RowID][]Value
	deleted     Deletion
	restarts    []time.Duration
	share       *float64 // of the starts that succeed, if it is known how long a start takes
	findings    []Finding
	err         error
}

// measure computes all rows of a container, finds what is wrong with its settings, and what helps.
// The error says why the API server or a node rejects its pod.
func (r *result) measure() error {
	if err := r.compute(); err != nil {
		return err
	}
	if !r.cannotStart && len(r.StartCases()) > 2 { // it restarts
		r.restarts = r.simulation.restarts()
	}
	r.chooseFixes()
	return nil
}

// compute computes all rows of a container, and finds what is wrong with its settings.
func (r *result) compute() error {
	name := r.container.spec.Name
	admitted, err := Admit(r.container.workload.Pod, r.profile)
	if err != nil {
		return err
	}
	r.simulation = simulation{admitted, name, r.options.Nodes, r.container.workload.terms.LongestStops()}
	if r.Container, err = admitted.Bounds(name, r.delays); err != nil {
		return err
	}
	r.broken, r.rows = r.brokenProbes(), map[RowID][]Value{}
	r.findings = append(findBroken(r.spec(), r.broken), otherHost(r)...)
	r.drop()
	left := slices.ContainsFunc(trace.ProbeTypes, func(p trace.Probe) bool { return r.Probe(p) != nil })
	// without a success of the startup probe, no other probe runs
	if r.cannotStart = hasProbes(r.container.spec) && !left || r.broken[trace.Startup] != ""; r.cannotStart {
		return nil
	}
	start := time.Duration(0)
	if known := r.container.start(); known != nil {
		start = known.Max
	}
	for _, row := range rows {
		if _, because := r.brokenFor(row.id); because == "" {
			r.rows[row.id] = Values(r.Container, row.id, start)
		}
	}
	if start := r.container.start(); start != nil {
		r.rows[Early] = early(r.Container, *start)
		if len(r.rows[Start]) > 0 {
			r.share = new(r.StartShare(start.Min, start.Max))
		}
	}
	r.deleted = r.simulation.deleted()
	if stop := r.container.stop(); stop != nil {
		exit := func(after time.Duration) time.Duration {
			return time.Duration(min(r.deleted.SIGTERM+value.Seconds(after), r.deleted.SIGKILL))
		}
		r.deleted.Exit = &value.Interval{Min: exit(stop.Min), Max: exit(stop.Max)}
	}
	for _, look := range finders {
		r.findings = append(r.findings, look(r)...)
	}
	r.sayWhatFollows()
	return nil
}

// drop removes the probes that can never run.
func (r *result) drop() {
	if len(r.broken) == 0 {
		return
	}
	r.Container = r.Without(slices.Sorted(maps.Keys(r.broken))...)
	admitted := *r.Admitted
	admitted.Pod = admitted.Pod.DeepCopy()
	r.Admitted = &admitted
	spec := r.spec()
	spec.StartupProbe, spec.LivenessProbe, spec.ReadinessProbe = r.Probe(trace.Startup), r.Probe(trace.Liveness),
		r.Probe(trace.Readiness)
}

// brokenFor returns a probe that can never run and without which a row of the container has no
// meaning, and why, if there is one.
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

// repeats reports whether a row has the value of the row that it is like.
func (r *result) repeats(id RowID) bool {
	return id.Like() != "" && (r.all(id).Least-r.all(id.Like()).Least).Abs() < tenth
}

// all returns the range of some values, and the mean of the last one that has one.
func all(values []Value) (a Value) {
	for i, v := range values {
		if i == 0 {
			a = v
		}
		a.Range = a.Or(v.Range)
		if v.Mean > 0 {
			a.Mean = v.Mean
		}
	}
	return a
}
