package bounds

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// startMoves are the ways in which the start of an instance varies.
type startMoves struct {
	ticks  func(latest bool) dim // moves the start against the ticks of the probes
	phase  func(c *Case) dim     // moves the start against the relists
	delays []dim                 // change how long the kubelet needs to see the start
	exits  bool                  // the instance before has exited by itself
	starts []dim                 // the delays of a start
	killed bool                  // a probe has stopped the instance before
	before []dim                 // move what comes before the start
	// carries says that the kubelet can carry over that the container has started, so that the liveness probe can stop the instance too.
	carries bool
}

// tie makes the moves those of a start to which a relist leads, if the kubelet stops the instance before at a relist. What follows the stop
// then moves the start against the relists, and the age of the kubelet moves both against the ticks.
func (m *startMoves) tie(s *Subject, c Case) error {
	if c.Instance == 0 || m.exits {
		return nil
	}
	relisted, err := s.relisted(c)
	if err != nil || !relisted {
		return err
	}
	d := m.ticks(false)
	d.relisted = true
	m.ticks = func(bool) dim { return d }
	m.phase = func(c *Case) dim {
		d := d
		d.to = min(d.to, d.from+c.relistPeriod())
		return d
	}
	return nil
}

// relisted reports whether a relist leads to the start, so that an older kubelet starts the instance earlier.
func (s *Subject) relisted(c Case) (bool, error) {
	l, err := s.landmarks(c)
	if err != nil {
		return false, err
	}
	c.Uptime += fine
	older, err := s.landmarks(c)
	return older.start < l.start, err
}

// moves returns how a start varies. It completes the case.
func (s *Subject) moves(c *Case, n Nodes, which StartCase) (startMoves, error) {
	down := c.Rules[0]
	if which != FirstInstance && which != YoungKubelet {
		c.Instance = 1
	}
	window := s.ticksRepeat(c)
	m := startMoves{carries: s.carriesStart(n, which), phase: func(c *Case) dim { return n.relisting(s, c) }, starts: n.dims(s.starts()...)}
	m.delays = n.dims(distinct(append(s.delaysAfter(c.Instance == 0), looks...))...)
	always := func(d dim) { m.ticks = func(bool) dim { return d } }
	kill := func(rule int) {
		m.killed = true
		m.before = n.dims(runPodSandbox)
		if rule == 1 {
			up := c.Rules[0].From
			m.before = append(m.before, leads(0, up, up+window))
		}
		stop := append([]delay{stopContainer, stopReturn}, s.starts()...)
		shutdown := leads(lastKilled, 0, s.shutdown(window))
		repeat := window
		if rule == 1 {
			repeat = s.period(trace.Liveness)
		}
		if shutdown.to >= min(window, repeat) {
			m.delays = n.dims(append(stop, looks...)...)
		} else {
			shutdown = shutdown.and(n.total(window, stop...))
		}
		if always(shutdown); shutdown.to < window && repeat < window {
			always(shutdown.again(leads(0, c.Rules[0].From, horizon), repeat, window))
		}
	}
	switch which {
	case FirstInstance:
		first := *c
		m.ticks = func(latest bool) dim { return n.begins(s, &first, latest) }
	case YoungKubelet:
		period := time.Duration(s.Probe(s.killer()).PeriodSeconds) * time.Second
		c.Uptime = time.Millisecond
		m.phase = func(c *Case) dim { // the period can be too short for all phases of the relists
			d := uptimes(c)
			d.to = min(d.to, period-1)
			start := n.relisting(s, c)
			if s.init() == "" {
				start = n.total(c.relistPeriod(), s.firstStart()...)
			}
			return d.and(start)
		}
		always(startJitters(period))
	case AfterLivenessKill:
		up, err := s.up(*c)
		if err != nil {
			return m, err
		}
		down.Instance, c.Instance = 1, 1
		c.Rules = []Rule{{Misfortune: Hang, From: up}, s.ends(), down}
		kill(1)
	case AfterStartupKill:
		c.Instance = 1
		c.Rules = []Rule{s.ends(), down}
		kill(0)
	case AfterCrash:
		up, err := s.up(*c)
		if err != nil {
			return m, err
		}
		down.Instance, c.Instance = 1, 1
		starts := n.total(window+time.Second, s.starts()...)
		up += starts.to - starts.from
		c.Rules = []Rule{{Exit: failed, From: up}, down}
		always(leads(0, up, up+window).exiting())
	case AfterCrashWhileStarting:
		last, err := s.longestStart(c, n)
		if err != nil {
			return m, err
		}
		c.Instance = 1
		c.Rules = []Rule{{Exit: failed, From: last / 2}, down}
		m.ticks = func(latest bool) dim { // the fewer probes have failed before, the greater the limit
			if latest {
				return leads(0, time.Millisecond, min(last, 2*window)).exiting()
			}
			return leads(0, max(time.Millisecond, last-2*window), last).exiting()
		}
	}
	if which == AfterCrash || which == AfterCrashWhileStarting { // a relist finds the exit, so only what follows moves the start against the relists
		m.phase = func(*Case) dim {
			return n.total(window+time.Second, s.starts()...).after(leads(0, time.Millisecond, horizon))
		}
		m.exits = true
	}
	return m, nil
}

// ends returns the rule of an instance that the kubelet stops. The exit code is one after which the container restarts: with restartPolicy
// OnFailure, a program that exits with 0 need not restart.
func (s *Subject) ends() Rule {
	r := Rule{Clock: fakeruntime.AfterSigterm}
	if !podutil.ContainerShouldRestart(s.container(), &s.pod.Spec, 0) {
		r.Exit = failed
	}
	return r
}

// failed is the exit code of a program that fails.
const failed = 1

// longestStart returns how long the first instance may take to start, on the node where it may take the longest. It moves the case there.
func (s *Subject) longestStart(c *Case, n Nodes) (time.Duration, error) {
	c.Instance = 0
	first, err := s.start(*c)
	if err != nil || n.Middle || first.bound.Least == Never {
		return first.bound.Least, err
	}
	d := n.begins(s, c, true).aligned(c.Uptime)
	l, err := s.landmarks(*c)
	if err != nil {
		return 0, err
	}
	for _, x := range d.around(s.meetings(*c, l, d)) {
		one, err := s.start(c.in(d, x))
		if err != nil {
			return 0, err
		}
		first.bound = first.bound.Or(one.bound)
	}
	*c = first.bound.AtGreatest
	return first.bound.Greatest, nil
}

// leads returns the dimension of the time of what leads to the misfortune, which is a rule of the case. A negative number of a rule counts from the
// end.
func leads(rule int, from, to time.Duration) dim {
	at := func(c *Case) *time.Duration {
		if rule < 0 {
			return &c.Rules[len(c.Rules)+rule].From
		}
		return &c.Rules[rule].From
	}
	return dim{
		from: from, to: to,
		get: func(c *Case) time.Duration { return *at(c) },
		set: func(c *Case, x time.Duration) { *at(c) = x },
	}
}

// lastKilled is the rule of how long the last instance that is killed needs to exit.
const lastKilled = -2

// again returns the dimension of the sum of d and of a time that leads to it, which grows by whole periods up to a width.
func (d dim) again(lead dim, period, width time.Duration) dim {
	return dim{
		from: d.from, to: d.from + width,
		get: func(c *Case) time.Duration { return d.get(c) + lead.get(c) - lead.from },
		set: func(c *Case, x time.Duration) {
			x -= d.from
			lead.set(c, lead.from+x.Truncate(period))
			d.set(c, min(d.from+x%period, d.to))
		},
	}
}

// exiting returns the dimension of an exit.
func (d dim) exiting() dim {
	d.exit = true
	return d
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
		for _, p := range trace.ProbeTypes {
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
