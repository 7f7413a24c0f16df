package tune

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// subject is a container whose rows to compute with other settings of its probes.
type subject struct {
	versions []*bounds.Container // in each version of Kubernetes
	now      setting             // of the manifest, without the probes that can never run
	old      setting             // the same with an added readiness probe: a search begins with it
	added    [fields]int32       // a startup probe that a search can add
	start    time.Duration       // the longest start, if it is known
	settings int                 // number of rows that were computed
	cautious bool                // a search leaves out settings that check warns of, unless the old one is so
}

// newSubject returns the container of a task. The text says why none of some rows has a meaning, if
// a probe can never run.
func (x *task) newSubject(rows []check.RowID, o *check.Options) (s *subject, broken string, err error) {
	pod, spec := x.pod, x.spec
	s = &subject{now: settingOf(spec)}
	if x.readiness != nil {
		pod = pod.DeepCopy()
		spec = podutil.Find(pod, spec.Name)
		spec.ReadinessProbe = x.readiness
	}
	s.old = settingOf(spec)
	if liveness := spec.LivenessProbe; liveness != nil {
		s.added = settingOf(&v1.Container{StartupProbe: check.StartupLike(liveness)})[startup]
	}
	if x.start != nil {
		s.start = x.start.Max
	}
	for _, p := range o.Profiles {
		admitted, err := check.Admit(pod, p)
		if err != nil {
			return nil, "", err
		}
		b, err := admitted.Bounds(spec.Name, o.Nodes)
		if err != nil {
			return nil, "", err
		}
		if broken := admitted.Broken(spec.Name, rows); broken != "" {
			return nil, broken, nil
		}
		for k, row := range [kinds]check.RowID{liveness: check.Detect, readiness: check.Unready} {
			if row != "" && admitted.Broken(spec.Name, []check.RowID{row}) != "" {
				s.old[k], s.now[k] = [fields]int32{}, [fields]int32{}
			}
		}
		s.versions = append(s.versions, b)
	}
	return s, "", nil
}

// values returns the values of a row with a setting, in all cases and versions: none if the
// container does not have the row.
func (s *subject) values(x setting, row check.RowID) (all []check.Value) {
	s.settings++
	for _, v := range s.versions {
		var own [kinds]*v1.Probe
		for k := range kinds {
			own[k] = x.probe(k, v.Probe(types[k]), v.Probe(trace.Liveness))
		}
		all = append(all, check.Values(v.With(own[startup], own[liveness], own[readiness]), row, s.start)...)
	}
	return all
}

// margin returns by how much a setting meets a requirement, or misses it. It is bounds.Never if
// nothing limits what must be possible.
func (s *subject) margin(x setting, q check.Requirement) time.Duration {
	found := s.values(x, q.Row)
	if len(found) == 0 {
		return bounds.Never
	}
	m, _ := q.Margin(found)
	return m
}

func (s *subject) meets(x setting, list check.Requirements) bool {
	for _, q := range list {
		if s.margin(x, q) < 0 {
			return false
		}
	}
	return true
}

// guaranteed returns the limit that always holds, or the worst time. Without a readiness and a
// startup probe, a container is ready at once. Without the probe of another row, nothing ever
// happens.
func (s *subject) guaranteed(x setting, row check.RowID) value.Seconds {
	found := s.values(x, row)
	switch {
	case len(found) == 0 && row == check.Ready:
		return 0
	case len(found) == 0:
		return value.Seconds(bounds.Never)
	}
	return value.Seconds(row.End(row.Worst(found).Range))
}

// podGrace returns the grace period of the pod, in seconds.
func (s *subject) podGrace() int64 { return *s.versions[0].Pod().Spec.TerminationGracePeriodSeconds }
