package bounds

import (
	"errors"
	"fmt"
	"time"

	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// StartCase says which start of the container is meant.
type StartCase string

const (
	// FirstInstance is the first start, on a kubelet that is older than the periods of the probes.
	FirstInstance StartCase = "first start"
	// YoungKubelet is the first start, on a kubelet that is younger than the periods of the probes. Its probes begin at a random
	// time.
	YoungKubelet StartCase = "first start on a young kubelet"
	// AfterLivenessKill is the start after the liveness probe has stopped the container.
	AfterLivenessKill StartCase = "after a liveness kill"
	// AfterStartupKill is the start after a start that took too long.
	AfterStartupKill StartCase = "after a startup kill"
	// AfterCrash is the start after the program has exited, once it was up.
	AfterCrash StartCase = "after a crash"
	// AfterCrashWhileStarting is the start after the program has exited before it was up.
	AfterCrashWhileStarting StartCase = "after a crash while starting"
)

// StartCases returns the cases that can occur for the container.
func (s *Subject) StartCases() []StartCase {
	if s.killer() == "" {
		return nil
	}
	list := []StartCase{FirstInstance, YoungKubelet}
	if c := s.container(); !podutil.ContainerShouldRestart(c, &s.pod.Spec, failed) {
		return list
	}
	if s.Probe(trace.Liveness) != nil {
		list = append(list, AfterLivenessKill)
	}
	if s.Probe(trace.Startup) != nil {
		list = append(list, AfterStartupKill)
	}
	return append(list, AfterCrash, AfterCrashWhileStarting)
}

// killer returns the probe that stops a container which does not come up, or nothing.
func (s *Subject) killer() trace.Probe {
	for _, p := range []trace.Probe{trace.Startup, trace.Liveness} {
		if s.Probe(p) != nil {
			return p
		}
	}
	return ""
}

// deciding returns the probes that decide the question of a case. For a start, these are the probes that can stop the instance. A liveness
// probe can stop a later instance although there is a startup probe, since the kubelet carries over that the container has started. A probe that
// belongs to the instance carries over nothing.
func (s *Subject) deciding(c *Case) []trace.Probe {
	if c.question != nil && c.question.probes != nil {
		return c.question.probes
	}
	list := []trace.Probe{s.killer()}
	if c.Instance > 0 && s.killer() != trace.Liveness && s.Probe(trace.Liveness) != nil && !s.Profile.ContainerScopedProbes {
		list = append(list, trace.Liveness)
	}
	return list
}

// Start returns how long the container may take to start: how long an instance may refuse all probes, counted from its start,
// without a probe that stops it. The limits are derived, but for probes that belong to an instance.
func (s *Subject) Start(n Nodes, which StartCase) (Bound, error) {
	if s.killer() == "" {
		return Bound{}, fmt.Errorf("container %s has no startup and no liveness probe", s.Container)
	}
	s.seen = map[string]landmarks{}
	defer func() { s.seen = nil }()
	c := s.center(n)
	c.question = &asked{limit: true, measure: (*Subject).start, happens: "the container is stopped while it starts"}
	down := Rule{Instance: AnyInstance, Misfortune: Refuse}
	c.Rules = []Rule{down}
	m, err := s.moves(&c, n, which)
	if err != nil {
		return Bound{}, err
	}
	c.question.expect = s.stopping(c.Instance)
	first, err := s.start(c)
	if err != nil || first.bound.Least == Never {
		return first.bound, err
	}
	if err := m.tie(s, c); err != nil {
		return Bound{}, err
	}
	b, f := first.bound, remember(s.start)
	if !n.Middle && s.derivesStart() {
		least, greatest := s.startLimits(n, which)
		b = b.toward(s.derived(least, greatest, tolerance))
	}
	for _, latest := range []bool{false, true} {
		if b.found(latest) {
			continue
		}
		if n.Middle {
			b, err = s.atEnd(c, latest, f, b)
		} else {
			b, err = s.toEnd(c, m, latest, f, b)
		}
		if err != nil {
			return b, err
		}
	}
	switch {
	case b.goal == nil || b.found(false) && b.found(true):
	case which == AfterCrash && !b.found(false):
		b, err = s.afterBackOff(c, n, m, f, b)
	case which == AfterLivenessKill && m.carries:
		b, err = s.afterBackOffOfKills(c, n, m, f, b)
	}
	if b.goal == nil && !n.Middle && err == nil {
		return s.withJitter(b, n)
	}
	return b.atGoal(), err
}

// atEnd extends a bound by the limit of a case in which the wall clock makes the limit the least or the greatest.
func (s *Subject) atEnd(c Case, latest bool, f measure, b Bound) (Bound, error) {
	if err := s.atSecond(&c, latest); err != nil {
		return b, err
	}
	one, err := f(c)
	if err != nil {
		return b, err
	}
	return b.Or(one.bound), nil
}

// toEnd extends a bound by the least or the greatest limit of the starts.
func (s *Subject) toEnd(c Case, m startMoves, latest bool, f measure, b Bound) (Bound, error) {
	d := m.ticks(latest)
	c = c.in(d, d.from+(d.to-d.from)/2)
	if m.exits {
		var err error
		if b, err = s.foundByProbe(c, m, latest, f, b); err != nil {
			return b, err
		}
		if err = s.exitAt(&c, d, time.Millisecond); err != nil {
			return b, err
		}
	}
	cases, err := s.extreme(c, m, latest)
	if err != nil {
		return b, err
	}
	if m.killed && m.carries && latest {
		if b, err = s.overOrders(cases, d, f, b); err != nil {
			return b, err
		}
	}
	for _, c := range cases {
		if err := s.atSecond(&c, latest); err != nil {
			return b, err
		}
		if b, err = s.overTicks(c, d, f, b); err != nil {
			return b, err
		}
		if m.exits && !latest {
			for _, c := range c.steps(m.phase(&c), c.relistPeriod()) {
				if b, err = s.overPairs(c, d, f, b); err != nil {
					return b, err
				}
			}
		}
	}
	if m.carries { // the ticks of both probes decide which of them stops the instance
		c := c.corner(latest, m.delays)
		points := 20
		if s.Probe(s.quickest(&c)).FailureThreshold == 1 { // a single run can decide, so more moments matter
			points = 100
		}
		return m.phases(s, &c, latest).search(c, effort{points, 5 * tolerance, []bool{latest}}, f, b)
	}
	return b, nil
}

// overOrders extends a bound by the limits of starts after a kill in which the ticks of the liveness and the startup probe come at one
// instant. The kubelet carries over that the container has started, so the liveness probe counts until it sees the start, at most until
// the next tick of the startup probe. The later that is, and the earlier the delay of the liveness probe ends, the more starts it stops.
func (s *Subject) overOrders(cases []Case, d dim, f measure, b Bound) (Bound, error) {
	for _, order := range []order{livenessFirst, livenessLast} {
		for _, c := range cases {
			c.order = order
			if err := s.atSecond(&c, order == livenessLast); err != nil {
				return b, err
			}
			var err error
			if b, err = s.overTicks(c, d, f, b); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

// start measures how long an instance may take to start.
func (s *Subject) start(c Case) (sample, error) {
	h, err := s.record(&c, s.recorder(s.showsConnections()), s.longestRun(), s.stopped(c.Instance))
	if errors.Is(err, errNothing) {
		return sample{bound: at(Never, c)}, nil
	}
	if err != nil {
		return sample{}, err
	}
	if !c.endsBefore(h) {
		return sample{bound: none(c)}, nil
	}
	verdict, err := h.verdict()
	if err != nil {
		return sample{}, err
	}
	limit := s.lastChance(h, verdict, &c).Sub(h.first(s.started(c.Instance)).T)
	return sample{bound: at(limit, c), outcome: h.outcome().T.Offset(), signature: h.signature(trace.Startup, trace.Liveness)}, nil
}
