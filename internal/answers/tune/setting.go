package tune

import (
	"cmp"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// kind is the type of a probe.
type kind int

const (
	startup kind = iota
	liveness
	readiness
	kinds
)

// types are the kinds as package trace has them.
var types = [kinds]trace.Probe{trace.Startup, trace.Liveness, trace.Readiness}

func (k kind) String() string { return string(types[k]) + "Probe" }

// field is one of the numbers of a probe.
type field int

const (
	delay field = iota
	period
	timeout
	threshold
	grace // of a kill by the probe; 0: that of the pod
	fields
)

var fieldNames = [fields]string{"initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold",
	"terminationGracePeriodSeconds"}

// least is the smallest value that Kubernetes accepts.
var least = [fields]int32{0, 1, 1, 1, 0}

// place is a field of a probe.
type place struct {
	kind  kind
	field field
}

func (p place) String() string { return p.kind.String() + "." + fieldNames[p.field] }

// Setting has the fields of the probes of a container. A probe with a period of 0 does not exist.
type setting [kinds][fields]int32

func (s setting) has(k kind) bool        { return s[k][period] > 0 }
func (s setting) at(p place) int32       { return s[p.kind][p.field] }
func (s *setting) set(p place, to int32) { s[p.kind][p.field] = to }

// with returns the setting with another value in a field.
func (s setting) with(p place, to int32) setting {
	s.set(p, to)
	return s
}

func settingOf(c *v1.Container) (s setting) {
	for k, of := range types {
		if p := prober.ProbeOf(c, of); p != nil {
			s[k] = [fields]int32{p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold, 0}
			if g := p.TerminationGracePeriodSeconds; g != nil {
				s[k][grace] = int32(min(*g, bounds.LongestGracePeriod))
			}
		}
	}
	return s
}

// probe returns a probe with the fields of the setting, or nil. A container without it gets the
// handler of another one.
func (s setting) probe(k kind, own, like *v1.Probe) *v1.Probe {
	if !s.has(k) {
		return nil
	}
	p := *cmp.Or(own, like)
	if own == nil {
		p.TerminationGracePeriodSeconds = nil
	}
	p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold = s[k][delay], s[k][period],
		s[k][timeout], s[k][threshold]
	if g := s[k][grace]; g > 0 && (own == nil || own.TerminationGracePeriodSeconds == nil ||
		*own.TerminationGracePeriodSeconds != int64(g)) {
		p.TerminationGracePeriodSeconds = new(int64(g))
	}
	return &p
}

// apply changes a container to have the setting, and the probes that are new.
func (s setting) apply(c *v1.Container, added [kinds]*v1.Probe) {
	for k, of := range types {
		if s.has(kind(k)) {
			prober.SetProbe(c, of, s.probe(kind(k), prober.ProbeOf(c, of), added[k]))
		}
	}
}

// changes returns the fields that differ. A new probe changes the fields that make it: the period
// and the threshold, and a delay.
func (s setting) changes(old setting) []place {
	var list []place
	for k := range kinds {
		for f := range fields {
			p := place{k, f}
			added := s.has(k) && !old.has(k) && (f == period || f == threshold || f == delay && s.at(p) > 0)
			if added || old.has(k) && s.at(p) != old.at(p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// cost says how big a change is. Fewer fields count first, then the sum of the relative changes.
type cost struct {
	fields   int
	relative float64
}

func (c cost) less(d cost) bool {
	return c.fields < d.fields || c.fields == d.fields && c.relative < d.relative-tie/2
}

// tie is the difference of the relative changes of two settings that cost the same.
const tie = 1e-6

func (s setting) costs(old setting, addedPeriod int32) cost {
	var c cost
	for _, p := range s.changes(old) {
		c.fields++
		before := float64(old.at(p))
		switch {
		case old.has(p.kind):
		case p.field == period:
			before = float64(addedPeriod)
		default: // a new probe is best with as few failures and as little delay as possible
			c.relative += float64(s.at(p)) / 100
			continue
		}
		c.relative += math.Abs(float64(s.at(p))-before) / max(1, before)
	}
	return c
}

// relevant are the fields of the probes that a row depends on. A row without a startup probe
// depends on the liveness probe instead.
func relevant(s setting, row check.RowID) []place {
	killer := startup
	if !s.has(startup) {
		killer = liveness
	}
	runs := func(k kind) []place { return []place{{k, threshold}, {k, period}, {k, timeout}} }
	comesUp := []place{{startup, period}, {startup, delay}, {startup, timeout}, {readiness, period}, {readiness, delay},
		{readiness, timeout}}
	var list []place
	switch row {
	case check.Start, check.Restart, check.Retry:
		list = runs(killer)
		// a delay of the liveness probe also delays it after a quick start; a startup probe does
		// not
		if killer == startup {
			list = append(list, place{startup, delay})
		}
		if killer == startup && row == check.Restart {
			list = append(list, runs(liveness)...)
		}
	case check.Stall, check.Silence, check.Errors, check.Detect:
		list = runs(liveness)
	case check.Serving, check.ServingSilence, check.ServingErrors, check.Unready, check.HungUnready:
		list = runs(readiness)
	case check.Ready:
		list = comesUp
	case check.Recover:
		list = append(runs(liveness), comesUp...)
	}
	return slices.DeleteFunc(list, func(p place) bool { return !s.has(p.kind) })
}
