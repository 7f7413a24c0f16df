package tune

import (
	"time"

	"probesim.dev/bounds"
	"probesim.dev/check"
)

// verdict is what is known about a requirement.
type verdict int

const (
	open verdict = iota
	met
	missed
)

// foresee says whether a setting meets or misses a requirement.
func (o *oracle) foresee(s setting, q check.Requirement, full bool) (verdict, error) {
	if o.broken {
		return open, nil
	}
	m, err := o.margin(s, q, full)
	if m < 0 {
		return missed, err
	}
	return met, err
}

// missesBy returns by how much a setting misses a time over all nodes.
func (o *oracle) missesBy(s setting, q check.Requirement) (by time.Duration, exact bool, err error) {
	m, err := o.margin(s, q, true)
	if m == bounds.Never || m >= 0 {
		return 0, true, err
	}
	return -m, true, err
}

// misses reports whether a setting misses one of some requirements over all nodes.
func (o *oracle) misses(s setting, list check.Requirements) (bool, error) {
	for _, q := range list {
		if v, err := o.foresee(s, q, true); err != nil || v == missed {
			return true, err
		}
	}
	return false, nil
}
