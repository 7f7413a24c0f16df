package tune

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
)

// oracle measures settings of one container. It remembers what it has measured.
type oracle struct {
	ctx       context.Context
	options   check.Options
	pod       *v1.Pod
	container string
	old       setting
	// exact measures each setting as it is. Otherwise, the probes on which a row does not depend keep their old values, so that
	// settings that differ only in these probes are measured once.
	exact bool
	// broken says that a probe can never run. The settings alone say nothing then.
	broken bool

	bases    map[string]*bounds.Container // by version
	known    map[question]map[check.RowID][]check.Value
	parts    map[string]*search // for some of the requirements, by their text
	settings int                // number of rows of settings that were measured over all nodes
	tries    int                // number of those that were tried on one node
}

// question is a setting with the row to measure.
type question struct {
	setting setting
	row     check.RowID
	full    bool
}

// values returns the values of a row, over all nodes or on one node.
func (o *oracle) values(s setting, row check.RowID, full bool) ([]check.Value, error) {
	if !o.exact {
		s = o.reduce(s, row)
	}
	q := question{s, row, full}
	if o.known == nil {
		o.known = map[question]map[check.RowID][]check.Value{}
	}
	if found, ok := o.known[q]; ok {
		return found[row], nil
	}
	if full {
		o.settings++
	} else {
		o.tries++
	}
	all := map[check.RowID][]check.Value{}
	var start time.Duration
	if o.options.Start != nil {
		start = o.options.Start.Max
	}
	for _, p := range o.options.Profiles {
		found, err := o.bounds(s, p)
		if err != nil {
			return nil, err
		}
		all[row] = append(all[row], check.Values(found, row, start)...)
	}
	o.known[q] = all
	return all[row], nil
}

// bounds returns the container with a setting in a version.
func (o *oracle) bounds(s setting, p profile.Profile) (*bounds.Container, error) {
	if o.bases == nil {
		o.bases = map[string]*bounds.Container{}
	}
	base := o.bases[p.Version]
	if base == nil {
		admitted, err := check.Admit(o.pod, p)
		if err != nil {
			return nil, err
		}
		if base, err = admitted.Bounds(o.container, o.options.Nodes); err != nil {
			return nil, err
		}
		o.bases[p.Version] = base
	}
	pod := base.Pod().DeepCopy()
	s.apply(pod, o.container)
	c := podutil.Find(pod, o.container)
	return base.With(c.StartupProbe, c.LivenessProbe, c.ReadinessProbe), nil
}

// reduce returns the setting with the old values of the probes on which a row does not depend.
func (o *oracle) reduce(s setting, row check.RowID) setting {
	x := o.old
	for _, p := range relevant(s, string(row)) {
		x[p.kind] = s[p.kind]
	}
	if row == check.Serving || row == check.Unready { // a container that the liveness probe kills is not ready
		x[liveness] = s[liveness]
	}
	return x
}

// margin returns by how much a setting meets a requirement, or misses it. If a limit does not exist, the margin is bounds.Never.
func (o *oracle) margin(s setting, q check.Requirement, full bool) (time.Duration, error) {
	found, err := o.values(s, q.Row, full)
	if err != nil || len(found) == 0 {
		return bounds.Never, err
	}
	m, _ := q.Margin(found)
	return m, nil
}

// holds reports whether a setting meets requirements: over all nodes, or possibly, as far as one node shows. What the settings alone say comes first.
// They can show that a setting is not enough. Only a measurement shows that it is enough over all nodes.
func (o *oracle) holds(s setting, list check.Requirements, full bool) (bool, error) {
	if full {
		if missed, err := o.misses(s, list); err != nil || missed {
			return false, err
		}
	}
	for _, all := range []bool{false, true} {
		if all && !full {
			break
		}
		for _, q := range list {
			if !all {
				switch v, err := o.foresee(s, q, false); {
				case err != nil || v == missed:
					return false, err
				case v == met:
					continue
				}
			}
			m, err := o.margin(s, q, all)
			if err != nil || m < 0 {
				return false, err
			}
		}
	}
	return true, nil
}

// limits and times are the requirements of each sort.
func limits(list check.Requirements) check.Requirements { return sorted(list, true) }
func times(list check.Requirements) check.Requirements  { return sorted(list, false) }

func sorted(list check.Requirements, limit bool) check.Requirements {
	return slices.DeleteFunc(slices.Clone(list), func(q check.Requirement) bool { return q.Row.IsLimit() != limit })
}
