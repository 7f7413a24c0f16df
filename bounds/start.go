package bounds

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
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
	if c := podutil.Find(s.pod, s.Container); !podutil.ContainerShouldRestart(c, &s.pod.Spec, 1) {
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
// probe can stop a later instance although there is a startup probe, since the kubelet carries over that the container has started.
func (s *Subject) deciding(c *Case) []trace.Probe {
	if c.question != nil && c.question.probes != nil {
		return c.question.probes
	}
	list := []trace.Probe{s.killer()}
	if c.Instance > 0 && s.killer() != trace.Liveness && s.Probe(trace.Liveness) != nil {
		list = append(list, trace.Liveness)
	}
	return list
}

// Start returns how long the container may take to start: how long an instance may refuse all probes, counted from its start,
// without a probe that stops it.
func (s *Subject) Start(n Nodes, which StartCase) (Bound, error) {
	if s.killer() == "" {
		return Bound{}, fmt.Errorf("container %s has no startup and no liveness probe", s.Container)
	}
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
	b, f := first.bound, remember(s.start)
	for _, latest := range []bool{false, true} {
		if n.Middle {
			b, err = s.atEnd(c, latest, f, b)
		} else {
			b, err = s.toEnd(c, m, latest, f, b)
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
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
	cases, err := s.extreme(c.in(d, d.from+(d.to-d.from)/2), m, latest)
	if err != nil {
		return b, err
	}
	for _, c := range cases {
		if err := s.atSecond(&c, latest); err != nil {
			return b, err
		}
		if b, err = s.overTicks(c, d, f, b); err != nil {
			return b, err
		}
		if m.exits && !latest {
			if b, err = s.overPairs(c, d, f, b); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

// startMoves are the ways in which the start of an instance varies.
type startMoves struct {
	ticks  func(latest bool) dim // moves the start against the ticks of the probes
	phase  dim                   // moves the start against the relists
	delays []dim                 // change how long the kubelet needs to see the start
	exits  bool                  // the instance before has exited by itself
	starts []dim                 // the delays of a start
}

// moves returns how a start varies. It completes the case.
func (s *Subject) moves(c *Case, n Nodes, which StartCase) (startMoves, error) {
	down := c.Rules[0]
	if which != FirstInstance && which != YoungKubelet {
		c.Instance = 1
	}
	window := s.ticksRepeat(c)
	m := startMoves{phase: n.relisting(s, c), delays: n.dims(looks...), starts: n.dims(s.starts()...)}
	if len(s.pod.Spec.Containers) > 1 || c.Instance == 0 && s.init() != "" { // the sync that starts the container goes on to start others
		m.delays = append(m.delays, m.starts...)
	}
	always := func(d dim) { m.ticks = func(bool) dim { return d } }
	kill := func(rule int) {
		stop := append([]delay{stopContainer, stopReturn}, s.starts()...)
		shutdown := leads(rule, 0, s.shutdown(window))
		if always(shutdown); shutdown.to >= window {
			m.delays = n.dims(append(stop, looks...)...)
			return
		}
		always(shutdown.and(n.total(window, stop...)))
	}
	switch which {
	case FirstInstance:
		first := *c
		m.ticks = func(latest bool) dim { return n.begins(s, &first, latest) }
	case YoungKubelet:
		period := time.Duration(s.Probe(s.killer()).PeriodSeconds) * time.Second
		c.Uptime = time.Millisecond
		m.phase = uptimes(c)
		m.phase.to = min(m.phase.to, period-1)
		always(startJitters(period))
	case AfterLivenessKill:
		up, err := s.up(*c)
		if err != nil {
			return m, err
		}
		down.Instance, c.Instance = 1, 1
		c.Rules = []Rule{{Misfortune: Hang, From: up}, {Clock: fakeruntime.AfterSigterm}, down}
		kill(1)
	case AfterStartupKill:
		c.Instance = 1
		c.Rules = []Rule{{Clock: fakeruntime.AfterSigterm}, down}
		kill(0)
	case AfterCrash:
		up, err := s.up(*c)
		if err != nil {
			return m, err
		}
		down.Instance, c.Instance = 1, 1
		c.Rules = []Rule{{Exit: 1, From: up}, down}
		always(leads(0, up, up+window))
	case AfterCrashWhileStarting:
		limit, err := s.start(Case{Uptime: c.Uptime, Delays: c.Delays, StartJitter: 0.5, SyncJitter: 0.5, Rules: []Rule{down}})
		if err != nil {
			return m, err
		}
		c.Instance = 1
		last := limit.bound.Least
		c.Rules = []Rule{{Exit: 1, From: last / 2}, down}
		m.ticks = func(latest bool) dim { // the fewer probes have failed before, the greater the limit
			if latest {
				return leads(0, time.Millisecond, min(last, 2*window))
			}
			return leads(0, max(time.Millisecond, last-2*window), last)
		}
	}
	if which == AfterCrash || which == AfterCrashWhileStarting { // a relist finds the exit, so only what follows moves the start against the relists
		m.phase = n.total(window+time.Second, s.starts()...)
		m.exits = true
	}
	return m, nil
}

// starts returns the delays of each start of the container.
func (s *Subject) starts() []delay {
	list := []delay{createContainer, startContainer}
	if podutil.Find(s.pod, s.Container).ImagePullPolicy == v1.PullAlways {
		list = append(list, imagePull)
	}
	return list
}

// leads returns the dimension of the time of what leads to the misfortune, which is a rule of the case.
func leads(rule int, from, to time.Duration) dim {
	return dim{
		from: from, to: to,
		get: func(c *Case) time.Duration { return c.Rules[rule].From },
		set: func(c *Case, x time.Duration) { c.Rules[rule].From = x },
	}
}

// shutdown is the longest time from the stop signal to the exit, up to the width of a search.
func (s *Subject) shutdown(width time.Duration) time.Duration {
	grace := 30 * time.Second
	if g := s.pod.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	return min(grace, width)
}

// up returns a time after the start of the container at which a healthy program has been up for a while.
func (s *Subject) up(c Case) (time.Duration, error) {
	c.Rules = nil
	_, longest := s.periods()
	done := map[trace.Probe]bool{}
	h, err := s.run(&c, func(r *trace.Record) bool {
		if r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Result == trace.Success {
			done[r.Probe] = true
		}
		for _, p := range probeTypes {
			if s.Probe(p) != nil && !done[p] {
				return false
			}
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	return h.outcome().T.Sub(h.first(s.started(0)).T) + longest, nil
}

// start measures how long an instance may take to start.
func (s *Subject) start(c Case) (sample, error) {
	h, err := s.run(&c, s.stopped(c.Instance))
	if errors.Is(err, errNothing) {
		return sample{bound: at(Never, c)}, nil
	}
	if err != nil {
		return sample{}, err
	}
	verdict, err := h.verdict()
	if err != nil {
		return sample{}, err
	}
	limit := request(verdict).Sub(h.first(s.started(c.Instance)).T)
	return sample{bound: at(limit, c), outcome: h.outcome().T.Offset(), signature: h.signature(trace.Startup, trace.Liveness)}, nil
}
