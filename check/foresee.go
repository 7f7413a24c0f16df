package check

import (
	"time"

	"probesim.dev/bounds"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/trace"
)

// Foreseen is what the settings of a container say about a value of a row without a run.
type Foreseen struct {
	// Least and Greatest are limits that no case passes. Greatest is bounds.Never if the settings do not say one.
	Least, Greatest time.Duration
	// Exact says that the end which decides, the least limit or the greatest time, is that over all nodes, up to a microsecond. A time can also be
	// bounds.Never.
	Exact bool
}

// Foresee returns what the settings of a container of an object say about the values of a row, those that Measure returns. No probe of the container
// may be Broken.
func Foresee(object manifests.APIObject, name string, p profile.Profile, row RowID, o Options) ([]Foreseen, error) {
	s, err := bounds.NewSubject(object, name, p)
	if err != nil {
		return nil, err
	}
	var list []Foreseen
	add := func(least, greatest time.Duration, exact bool) { list = append(list, Foreseen{least, greatest, exact}) }
	switch row {
	case Start, Restart, Retry:
		for _, c := range s.StartCases() {
			if startRow(c) == row {
				add(s.StartLimits(o.Nodes, c))
			}
		}
	case Ready:
		if s.Probe(trace.Startup) != nil || s.Probe(trace.Readiness) != nil {
			add(s.ReadyLimits(o.Nodes, false))
			if s.SleepsWhenYoung() {
				add(s.ReadyLimits(o.Nodes, true))
			}
		}
	default:
		add(0, bounds.Never, false)
	}
	return list, nil
}

// Meets reports whether the value surely meets a requirement.
func (x Foreseen) Meets(r Requirement) bool { return r.Row.IsLimit() && x.Least >= r.Duration }

// Misses reports whether the value surely misses a requirement: over all nodes, or on each of them.
func (x Foreseen) Misses(r Requirement, allNodes bool) bool {
	switch limit, ends := r.Row.IsLimit(), allNodes && x.Exact; {
	case limit && ends:
		return x.Least+time.Microsecond < r.Duration
	case limit:
		return x.Greatest < r.Duration
	case ends:
		return x.Greatest-time.Microsecond > r.Duration
	}
	return x.Least > r.Duration
}

// startRow returns the row of a start.
func startRow(c bounds.StartCase) RowID {
	switch c {
	case bounds.FirstInstance, bounds.YoungKubelet:
		return Start
	case bounds.AfterCrashWhileStarting:
		return Retry
	}
	return Restart
}
