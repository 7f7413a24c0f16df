package tune

import (
	"time"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/kube/profile"
)

// foresight is a setting with the row of which it says something without a run.
type foresight struct {
	setting setting
	row     check.RowID
	version string
}

// verdict is what is known about a requirement without a run.
type verdict int

const (
	open verdict = iota
	met
	missed
)

// foresee says whether a setting surely meets or misses a requirement, over all nodes or on one node, without a run. A start that takes hours
// needs a long run. The settings alone often say that it takes far more or far less than the requirement.
func (o *oracle) foresee(s setting, q check.Requirement, full bool) (verdict, error) {
	all := met
	for _, p := range o.profiles(full) {
		list, err := o.foreseen(s, q.Row, p)
		if err != nil {
			return open, err
		}
		for _, x := range list {
			switch {
			case x.Misses(q, full):
				return missed, nil
			case !x.Meets(q):
				all = open
			}
		}
	}
	return all, nil
}

// foreseen returns what a setting says about a row in a version.
func (o *oracle) foreseen(s setting, row check.RowID, p profile.Profile) ([]check.Foreseen, error) {
	if o.broken {
		return []check.Foreseen{{Greatest: bounds.Never}}, nil
	}
	if !o.exact {
		s = o.reduce(s, row)
	}
	key := foresight{s, row, p.Version}
	if list, ok := o.foresights[key]; ok {
		return list, nil
	}
	list, err := check.Foresee(o.changed(s), o.container, p, row, o.options)
	if err != nil {
		return nil, err
	}
	if o.foresights == nil {
		o.foresights = map[foresight][]check.Foreseen{}
	}
	o.foresights[key] = list
	return list, nil
}

// missesBy returns by how much a setting surely misses a time over all nodes, and whether the settings alone say it.
func (o *oracle) missesBy(s setting, q check.Requirement) (by time.Duration, exact bool, err error) {
	exact = true
	for _, p := range o.profiles(true) {
		list, err := o.foreseen(s, q.Row, p)
		if err != nil {
			return 0, false, err
		}
		for _, x := range list {
			if exact = exact && x.Exact; x.Exact {
				by = max(by, x.Greatest-q.Duration)
			}
		}
	}
	return by, exact, nil
}

// misses reports whether a setting surely misses one of some requirements over all nodes.
func (o *oracle) misses(s setting, list check.Requirements) (bool, error) {
	for _, q := range list {
		if v, err := o.foresee(s, q, true); err != nil || v == missed {
			return true, err
		}
	}
	return false, nil
}
