package bounds

import (
	"errors"
	"fmt"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// UntilReady returns the time from the moment at which the program of the first instance is up until the status in the API says
// that the container is ready. If atOnce is true, the program is up when the container starts; otherwise it comes up after the
// first run of the probe that waits for it, and before the last one, or before the run of a probe that stops the container. Nodes on which that
// run comes first do not count; if it comes first on all, the program must be up when the container starts. Both ends are derived if there is a
// readiness probe.
func (s *Subject) UntilReady(n Nodes, atOnce bool) (Bound, error) {
	if len(s.waiting()) == 0 {
		return Bound{}, fmt.Errorf("container %s has no startup and no readiness probe", s.Container)
	}
	if !atOnce && s.neverLater(n) {
		return s.UntilReady(n, true)
	}
	s.seen = map[string]landmarks{}
	defer func() { s.seen = nil }()
	c, f := s.asksUntilReady(n, atOnce)
	search := s.overUpLater
	if atOnce {
		search = s.overUpAtOnce
	}
	first, err := f(c)
	switch {
	case err == nil && n.Middle && first.bound.isNone():
		return s.UntilReady(n, true)
	case err != nil || first.bound.Least == Never && !first.bound.isNone() || n.Middle:
		return first.bound, err
	}
	b := first.bound
	if b.isNone() {
		if b, err = s.laterAtAll(n, c, f); err != nil {
			return b, err
		}
	}
	if s.derivesReady() {
		least, greatest := s.readyLimits(n, atOnce)
		b = b.toward(s.derived(least, greatest, timeTolerance))
	}
	b, err = s.searchReady(n, c, search, f, b)
	if err == nil && b.goal == nil && !b.isNone() && !atOnce { // the search leaves the jitter between the connections of a gRPC probe in the middle
		last := s.lastConnection(n, s.deciding(&c)[0])
		return b.derive(max(0, b.Least-(last.Max-last.Min)), b.Greatest+last.Max-last.Min), nil
	}
	if err != nil || !b.isNone() {
		return b.atGoal(), err
	}
	atOnceToo, err := s.UntilReady(n, true)
	if b.goal != nil && atOnceToo.Greatest != Never { // the program can come up later on nodes that the search does not find
		atOnceToo = atOnceToo.derive(b.goal.least, b.goal.greatest)
	}
	return atOnceToo, err
}

// asksUntilReady returns the case in the middle of the nodes with the question of UntilReady, and what measures its answer.
func (s *Subject) asksUntilReady(n Nodes, atOnce bool) (Case, measure) {
	c := s.center(n)
	c.question = &asked{probes: s.waiting(), expect: s.becomesReady(true), happens: "the container becomes ready", measure: func(s *Subject, c Case) (sample, error) {
		one, err := s.upAt(c, c.Event)
		if c.Event > 0 && one.bound.Least == Never { // stopped before
			one.bound = none(c)
		}
		return one, err
	}}
	if atOnce {
		return c, remember(func(c Case) (sample, error) { return s.upAt(c, 0) })
	}
	return c, remember(s.upLater)
}

// searchReady extends a bound of the time until ready by a search over all nodes, which it needs only if no case comes close to the goal.
func (s *Subject) searchReady(n Nodes, c Case, search func(Nodes, Case, []dim, measure, Bound) (Bound, error), f measure, b Bound) (Bound, error) {
	b, err := s.atHousekeeping(n, b, f)
	if err != nil || b.found(false) && b.found(true) {
		return b, err
	}
	if b, err = search(n, c, n.unevenly().dims(s.readyDelays()...), f, b); err == nil {
		b, err = s.aimToStarted(b)
	}
	if err == nil {
		b, err = s.withAlongside(n, c, search, f, b)
	}
	if err == nil {
		b, err = s.overOtherStarts(n, b, f)
	}
	if err == nil {
		b, err = s.atHousekeeping(n, b, f)
	}
	return b, err
}

// readyDelays returns the delays from the start of the container until it is ready.
func (s *Subject) readyDelays() []delay {
	list := append([]delay{apiGet, apiPatch}, looks...)
	for _, p := range s.waiting() {
		list = append(list, answerDelay(s.Probe(p)))
	}
	return list
}

// laterAtAll returns the bound of a program that comes up later on the node where the start may take the longest.
func (s *Subject) laterAtAll(n Nodes, c Case, f measure) (Bound, error) {
	asked := c.question
	c.question, c.Rules = nil, []Rule{{Instance: AnyInstance, Misfortune: Refuse}}
	if _, err := s.longestStart(&c, n); err != nil {
		return none(c), err
	}
	c.question, c.Rules = asked, nil
	one, err := f(c)
	return one.bound, err
}

// waiting returns the probes that decide when the container becomes ready.
func (s *Subject) waiting() []trace.Probe {
	var list []trace.Probe
	for _, p := range []trace.Probe{trace.Startup, trace.Readiness} {
		if s.Probe(p) != nil {
			list = append(list, p)
		}
	}
	return list
}

// overUpAtOnce extends a bound of the time until ready of a program that is up when its container starts, by those over the phases of the
// start.
func (s *Subject) overUpAtOnce(n Nodes, c Case, delays []dim, f measure, b Bound) (Bound, error) {
	type corner struct {
		c     Case
		p     startPhases
		shown Bound
	}
	var corners []corner
	for _, latest := range []bool{false, true} {
		c := c.corner(latest, delays)
		p := n.startPhases(s, &c, latest)
		own, err := s.shownAt(p, c, latest, f)
		if err != nil {
			return b, err
		}
		corners, b = append(corners, corner{c, p, own}), b.Or(own)
	}
	b, err := s.overReadyOrders(n, c, delays, f, b)
	if err == nil {
		b, err = s.atHousekeeping(n, b, f)
	}
	for _, one := range corners {
		if err != nil || b.found(false) && b.found(true) {
			break
		}
		one.shown, err = one.p.search(one.c, effort{60, 4 * timeTolerance, []bool{false, true}}, f, one.shown.toward(b.goal))
		b = b.Or(one.shown)
	}
	return b, err
}

// overReadyOrders extends a bound by the cases with an unusual order of events, if these are beyond those with the usual one. The probe wastes the trigger
// of the sync that shows the start, or two events of one relist lead to two syncs.
func (s *Subject) overReadyOrders(n Nodes, c Case, delays []dim, f measure, b Bound) (Bound, error) {
	readiness := s.Probe(trace.Readiness)
	if readiness == nil {
		return b, nil
	}
	for _, one := range []struct {
		order  order
		latest bool
		counts bool
	}{
		{lateStatus, false, true},
		{lateStatus, true, true},
		{apartEvents, false, readiness.SuccessThreshold > 2}, // each sync leads to a run
		{apartEvents, true, s.Profile.PLEGOnDemandRelist && s.delayed(&c)},
	} {
		if !one.counts || b.found(one.latest) {
			continue
		}
		own, err := s.overOrder(n, c, one.order, one.latest, delays, f, none(c).toward(b.goal))
		if err != nil {
			return b, err
		}
		if own.Least > b.Least-tolerance {
			own.Least = Never
		}
		if own.Greatest < b.Greatest+tolerance {
			own.Greatest = b.Greatest
		}
		b = b.Or(own)
	}
	return b, nil
}

// overOrder extends a bound by the cases with an order of events. The order matters most if one relist finds the sandbox and the container, so the
// container starts soon after its sandbox.
func (s *Subject) overOrder(n Nodes, c Case, o order, latest bool, delays []dim, f measure, b Bound) (Bound, error) {
	c = c.corner(latest, delays).corner(false, n.dims(imageStatus))
	c.order = o
	list := []Case{c}
	if look, ok := s.lookBeforeRest(n); latest && ok && s.init() == "" {
		rest, exactly := c.clone(), fakeruntime.Exactly(max(look-tolerance, n.draw(podSandboxStatus).Min)) // a relist must come in between
		rest.Delays.PodSandboxStatus = &exactly
		list = append(list, rest)
	}
	for _, c := range list {
		if b.found(latest) {
			break
		}
		p := n.startPhases(s, &c, latest)
		c = c.in(p.begins, p.begins.from)
		if err := s.atSecond(&c, latest); err != nil {
			return b, err
		}
		d := p.relists
		if p.seconds {
			d = d.inSecond()
		}
		ready := func(l landmarks) virtual.Time { // when the list of the sandboxes begins that misses the sandbox by little
			return l.start.Add(-c.value(podSandboxStatus) - s.untilStart(Nodes{Delays: c.Delays}) - c.value(listPodSandbox))
		}
		rest := s.rest(Nodes{Delays: c.Delays}, true)
		ended := func(l landmarks) virtual.Time { return l.start.Add(rest.Min + (rest.Max-rest.Min)/2) } // the end of the sync that starts the container
		points, err := s.relistCuts(c, d, []mark{landmarks.startTime, ready, ended})
		if err != nil {
			return b, err
		}
		if b, err = parts(c, d, points, f, b, tolerance); err != nil {
			return b, err
		}
	}
	return b, nil
}

// overOtherStarts extends a bound by the cases of its ends, but with the start of the container as late as possible for the least value, and as early
// as possible for the greatest. The delays that decide this come before the start, and one of them in a relist that inspects the pod too. The age of the
// kubelet changes with it, so that the relists after up to two such relists keep their place.
func (s *Subject) overOtherStarts(n Nodes, b Bound, f measure) (Bound, error) {
	for _, greatest := range []bool{false, true} {
		c := b.end(greatest)
		was := c.value(podSandboxStatus)
		c = c.corner(!greatest, n.dims(imageStatus, podSandboxStatus))
		for inspections := range time.Duration(3) {
			if b.found(greatest) {
				break
			}
			one, err := f(c.aged(c.Uptime + inspections*(c.value(podSandboxStatus)-was)))
			if err != nil {
				return b, err
			}
			b = b.Or(one.bound)
		}
		one, err := f(b.end(greatest).corner(!greatest, n.dims(imageStatus)))
		if err != nil {
			return b, err
		}
		b = b.Or(one.bound)
	}
	return b, nil
}

// shownAt returns the bound over the cases in which the kubelet sees the start as early or as late as possible.
func (s *Subject) shownAt(p startPhases, c Case, latest bool, f measure) (Bound, error) {
	lag, err := s.overStartRelists(p.middle(c), p.relists, s.lag)
	if err != nil {
		return lag, err
	}
	c = lag.end(latest)
	if err := s.atSecond(&c, latest); err != nil {
		return lag, err
	}
	d, points, err := s.meetingTicks(c, p.begins)
	if err != nil {
		return lag, err
	}
	return parts(c, d, points, f, none(c), timeTolerance)
}

// overUpLater extends a bound of the time until ready of a program that comes up later, by those over the phases of the start.
func (s *Subject) overUpLater(n Nodes, c Case, delays []dim, f measure, b Bound) (Bound, error) {
	for _, latest := range []bool{false, true} {
		c := c.corner(latest, delays)
		p := n.startPhases(s, &c, latest)
		relists, lag := p.relists, f
		if s.Probe(trace.Startup) != nil { // the phase of the relists against the ticks matters, not that against the start
			relists, lag = uptimes(&c), s.upAfterOneFailure
		}
		own, err := s.overStartRelists(p.middle(c), relists, lag)
		if err != nil {
			return b, err
		}
		b = b.Or(own)
		end := own.end(latest)
		end.Event, end.Rules = 0, nil
		if err := s.atSecond(&end, latest); err != nil {
			return b, err
		}
		if b, err = s.overMeetings(end, p.begins, f, b); err != nil {
			return b, err
		}
	}
	if !s.waitsTwice(&c) {
		return s.aimToReady(b)
	}
	f = remember(s.upAfterOneFailure)
	for _, latest := range []bool{false, true} {
		c := c.corner(latest, delays)
		var err error
		if b, err = n.startPhases(s, &c, latest).search(c, effort{20, 4 * timeTolerance, []bool{latest}}, f, b); err != nil {
			return b, err
		}
	}
	return b, nil
}

// waitsTwice reports whether the readiness probe needs time of its own after the success of a startup probe. It then depends on the phases
// of the start, since the syncs that lead to its runs do.
func (s *Subject) waitsTwice(c *Case) bool {
	readiness := s.Probe(trace.Readiness)
	return s.Probe(trace.Startup) != nil && readiness != nil && (s.delayed(c) || readiness.SuccessThreshold > 1)
}

// overMeetings extends a bound by the values of a function in a case, and in those in which the end of an initialDelaySeconds meets a tick of
// a probe. Without such a delay, some moment at which the program comes up meets each tick, whatever the phase.
func (s *Subject) overMeetings(c Case, begins dim, f measure, b Bound) (Bound, error) {
	one, err := f(c)
	if err != nil || !s.delayed(&c) {
		return b.Or(one.bound), err
	}
	b = b.Or(one.bound)
	d, points, err := s.meetingTicks(c, begins)
	if err != nil {
		return b, err
	}
	for _, x := range points {
		if one, err = f(c.in(d, x)); err != nil {
			return b, err
		}
		b = b.Or(one.bound)
	}
	return b, nil
}

// meetingTicks returns the dimension that moves the start against the ticks, and its points next to those at which what moves with the start
// meets a tick of a probe.
func (s *Subject) meetingTicks(c Case, begins dim) (dim, []time.Duration, error) {
	l, err := s.landmarks(c)
	if err != nil {
		return begins, nil, err
	}
	d := begins.aligned(c.Uptime)
	if s.delayed(&c) {
		d = d.onSecond()
	}
	return d, d.around(s.meetings(c, l, d)), nil
}

// upAt measures the time until ready of a program that comes up at a virtual time, or when the container starts. The time is Never if the
// first instance does not become ready.
func (s *Subject) upAt(c Case, t time.Duration) (sample, error) {
	c.Event, c.Rules = t, nil
	if t > 0 {
		c.Rules = []Rule{{Instance: AnyInstance, Clock: fakeruntime.AtScenario, For: t, Misfortune: Refuse}}
	}
	h, err := s.record(&c, s.recorder(""), t+s.healthyWithin(), func(r *trace.Record) bool { return s.ready(r) || s.stopped(0)(r) })
	if errors.Is(err, errNothing) || err == nil && !s.ready(h.outcome()) {
		return sample{bound: at(Never, c)}, nil
	}
	if err != nil {
		return sample{}, err
	}
	up := max(virtual.At(t), h.first(s.started(0)).T)
	one := sample{bound: at(h.outcome().T.Sub(up), c), outcome: h.outcome().T.Offset(), signature: h.signature(trace.Startup, trace.Readiness)}
	if r := h.first(s.succeeds(trace.Startup)); r != nil {
		one.started = r.T.Offset()
	}
	return one, nil
}

// upLater measures the time until ready over all times at which the program comes up, over some periods of the probe that
// decides first. A case in which the container is stopped before does not count.
func (s *Subject) upLater(c Case) (sample, error) {
	moments, err := s.requestsWhileDown(c, s.deciding(&c)[0])
	if err != nil {
		return sample{}, err
	}
	if len(moments) == 0 {
		return sample{bound: none(c)}, nil
	}
	return overAll(moments, c, func(c Case) (sample, error) { return s.upAt(c, c.Event) })
}

// upAfterOneFailure is upLater for a program that comes up between the first two runs of the probe, or at the only one.
func (s *Subject) upAfterOneFailure(c Case) (sample, error) {
	moments, err := s.requestsWhileDown(c, s.deciding(&c)[0])
	if err != nil {
		return sample{}, err
	}
	if len(moments) == 0 {
		return sample{bound: none(c)}, nil
	}
	return between(moments[0][:min(2, len(moments[0]))], c, func(c Case) (sample, error) { return s.upAt(c, c.Event) })
}

// initialDelays is the longest initialDelaySeconds of a probe.
func (s *Subject) initialDelays() time.Duration {
	var longest int32
	for _, p := range trace.ProbeTypes {
		if probe := s.Probe(p); probe != nil {
			longest = max(longest, probe.InitialDelaySeconds)
		}
	}
	return time.Duration(longest) * time.Second
}
