package check

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/bounds"
	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/trace"
)

// RowID names a row of the report.
type RowID string

// Limits: how long something may last without a bad outcome.
const (
	Start   RowID = "start"   // the first start of the container
	Restart RowID = "restart" // a start after a kill, or after a crash of a program that was up
	Retry   RowID = "retry"   // a start after a crash while starting
	Stall   RowID = "stall"   // a stall that the liveness probe survives
	Silence RowID = "silence" // a time without any answer that the liveness probe survives
	Serving RowID = "serving" // a stall in which the container stays ready
)

// Times: how long the kubelet takes.
const (
	Ready   RowID = "ready"   // from up to ready
	Unready RowID = "unready" // from broken to not ready
	Detect  RowID = "detect"  // from hung to the stop signal
	Recover RowID = "recover" // from hung to ready again
)

// Value is a bound in one case and one version.
type Value struct {
	Case       string // such as "after a crash"; empty if the row has only one
	Kubernetes string
	bounds.Bound
}

// result is what was measured for a container in one version.
type result struct {
	version  string
	rows     map[RowID][]Value
	deleted  bounds.Course
	restarts []time.Duration
	share    *float64 // of the starts that succeed, if it is known how long a start takes
	findings []finding
	hopeless bool // because of probes that can never run, no figure has a meaning
	runs     int
	err      error
	only     []RowID // rows to measure; nil: all
}

// broken returns the findings about probes that can never run.
func (r *result) broken() []finding {
	return slices.DeleteFunc(slices.Clone(r.findings), func(f finding) bool { return f.ID != BrokenProbe })
}

// isBroken reports whether a probe can never run.
func (r *result) isBroken(p trace.Probe) bool {
	return slices.ContainsFunc(r.broken(), func(f finding) bool { return f.broken == p })
}

// drop removes the probes that can never run.
func (r *result) drop(s *bounds.Subject) {
	var probes []trace.Probe
	for _, f := range r.broken() {
		probes = append(probes, f.broken)
	}
	s.Drop(probes)
}

// brokenFor returns the finding about a probe that can never run and without which a row of a container has no meaning, or nil.
func (r *result) brokenFor(id RowID, c *v1.Container) *finding {
	for _, f := range r.broken() {
		if id.needs(f.broken, c) {
			return &f
		}
	}
	return nil
}

func (r *result) add(id RowID, name string, b bounds.Bound) {
	r.rows[id] = append(r.rows[id], Value{name, r.version, b})
}

// wants reports whether to measure a row.
func (r *result) wants(id RowID) bool { return r.only == nil || slices.Contains(r.only, id) }

// Measure measures some rows of a container of an object in one version. It returns no values of rows that the container does not
// have. If an end of a value is derived, no case of the value shows it.
func Measure(ctx context.Context, object manifests.APIObject, name string, p profile.Profile, rows []RowID, o Options) (map[RowID][]Value, error) {
	s, err := bounds.NewSubject(object, name, p)
	if err != nil {
		return nil, err
	}
	s.Context, s.EndsOnly = ctx, true
	r := &result{version: p.Version, only: rows, rows: map[RowID][]Value{}}
	of := &subject{Subject: s, options: &o}
	for _, step := range []func(*subject) error{r.findBroken, r.starts, r.stalls, r.times, r.recovers} {
		if err := step(of); err != nil {
			return nil, err
		}
		if r.hopeless {
			break
		}
	}
	return r.rows, nil
}

// Broken says which probe of a container of an object can never run in a version, and why, if one of the rows has no meaning then. It
// returns an empty string otherwise.
func Broken(ctx context.Context, object manifests.APIObject, name string, p profile.Profile, rows []RowID, o Options) (string, error) {
	s, err := bounds.NewSubject(object, name, p)
	if err != nil {
		return "", err
	}
	s.Context = ctx
	r := &result{}
	if err := r.findBroken(&subject{Subject: s, options: &o}); err != nil {
		return "", err
	}
	for _, id := range rows {
		if f := r.brokenFor(id, podutil.Find(s.Pod(), name)); f != nil {
			return f.Message, nil
		}
	}
	return "", nil
}

// restartsWithin is the time in which restarts of a container that never comes up are listed.
const restartsWithin = time.Hour

// measure measures all rows of a container.
func (r *result) measure(s *subject) error {
	r.rows = map[RowID][]Value{}
	defer func() { r.runs = s.Runs }()
	steps := []func(*subject) error{r.findBroken, r.starts, r.stalls, r.times, r.courses}
	for _, step := range steps {
		if err := step(s); err != nil {
			return err
		}
		if r.hopeless {
			return nil
		}
	}
	r.findings = append(r.findings, find(s, r)...)
	return nil
}

func (r *result) starts(s *subject) error {
	for _, c := range s.StartCases() {
		id := startRow(c)
		if !r.wants(id) {
			continue
		}
		b, err := s.Start(s.options.Nodes, c)
		if err != nil {
			return err
		}
		r.add(id, string(c), b)
	}
	if s.options.Start == nil || r.only != nil || len(r.rows[Start]) == 0 {
		return nil
	}
	share, err := s.StartShare(s.options.Nodes, s.options.Start.Min, s.options.Start.Max)
	r.share = &share
	return err
}

func (r *result) stalls(s *subject) error {
	type row struct {
		id    RowID
		probe trace.Probe
		ask   func(bounds.Nodes, bounds.Misfortune) (bounds.Bound, error)
		m     bounds.Misfortune
	}
	for _, row := range []row{
		{Stall, trace.Liveness, s.Survives, bounds.Stall},
		{Silence, trace.Liveness, s.Survives, bounds.Hang},
		{Serving, trace.Readiness, s.StaysReady, bounds.Stall},
		{Unready, trace.Readiness, s.UntilUnready, bounds.Refuse},
		{Detect, trace.Liveness, s.UntilStopped, bounds.Hang},
	} {
		if s.Probe(row.probe) == nil || !r.wants(row.id) {
			continue
		}
		b, err := row.ask(s.options.Nodes, row.m)
		if err != nil {
			return err
		}
		r.add(row.id, "", b)
	}
	return nil
}

func (r *result) times(s *subject) error {
	if !r.wants(Ready) || r.isBroken(trace.Readiness) || s.Probe(trace.Startup) == nil && s.Probe(trace.Readiness) == nil {
		return nil
	}
	asks := []func(bounds.Nodes, bool) (bounds.Bound, error){s.UntilReady}
	if s.SleepsWhenYoung() {
		asks = append(asks, s.UntilReadyOnYoungKubelet)
	}
	for i, ask := range asks {
		for _, up := range []struct {
			name   string
			atOnce bool
		}{{upAtOnce, true}, {"up later", false}} {
			b, err := ask(s.options.Nodes, up.atOnce)
			if err != nil {
				return err
			}
			if i > 0 {
				up.name += " on a young kubelet"
			}
			r.add(Ready, up.name, b)
		}
	}
	return nil
}

func (r *result) courses(s *subject) error {
	var err error
	if r.deleted, err = s.Deleted(s.options.Nodes); err != nil {
		return err
	}
	if !s.restarts() {
		return nil
	}
	if r.restarts, err = s.Restarts(s.options.Nodes, restartsWithin); err != nil {
		return err
	}
	return r.recovers(s)
}

// restarts reports whether a probe stops the container, and it restarts.
func (s *subject) restarts() bool { return len(s.StartCases()) > 2 }

func (r *result) recovers(s *subject) error {
	if !r.wants(Recover) || r.isBroken(trace.Readiness) || !s.restarts() || s.Probe(trace.Liveness) == nil {
		return nil
	}
	var start time.Duration
	if s.options.Start != nil {
		start = s.options.Start.Max
	}
	b, err := s.UntilRecovered(s.options.Nodes, start)
	if err != nil {
		return err
	}
	if start > 0 {
		limit, err := r.afterLivenessKill(s)
		if err != nil {
			return err
		}
		if start > limit.Least {
			b.Greatest, b.AtGreatest, b.Mean = bounds.Never, limit.AtLeast, 0
		}
		if start > limit.Greatest {
			b.Least, b.AtLeast = bounds.Never, limit.AtGreatest
		}
	}
	r.add(Recover, "", b)
	return nil
}

// afterLivenessKill returns the limits of a start after a liveness kill. They may have been measured before.
func (r *result) afterLivenessKill(s *subject) (bounds.Bound, error) {
	for _, v := range r.rows[Restart] {
		if v.Case == string(bounds.AfterLivenessKill) {
			return v.Bound, nil
		}
	}
	return s.Start(s.options.Nodes, bounds.AfterLivenessKill)
}

// upAtOnce is the case of a program that is up when its container starts.
const upAtOnce = "up at once"
