package bounds

import (
	"errors"
	"fmt"
	"time"

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

// Start returns how long the container may take to start: how long an instance may refuse all probes, counted from its start,
// without a probe that stops it.
func (s *Subject) Start(n Nodes, which StartCase) (Bound, error) {
	if s.killer() == "" {
		return Bound{}, fmt.Errorf("container %s has no startup and no liveness probe", s.Container)
	}
	c := s.center(n)
	down := Rule{Instance: AnyInstance, Misfortune: Refuse}
	c.Rules = []Rule{down}
	shortest, longest := s.periods()
	grid := shortest / 4
	begin := n.total(longest, grid, runPodSandbox, imagePull, createContainer, startContainer)
	again := n.total(longest, grid, createContainer, startContainer)
	dims := []dim{begin, uptimes(c.Uptime)}
	switch which {
	case YoungKubelet:
		c.Uptime = 337 * time.Millisecond
		dims = []dim{begin, startJitters(), uptimes(c.Uptime)}
	case AfterLivenessKill, AfterCrash:
		up, err := s.up(c)
		if err != nil {
			return Bound{}, err
		}
		down.Instance, c.Instance = 1, 1
		if which == AfterCrash {
			c.Rules = []Rule{{Exit: 1, From: up}, down}
			dims = append([]dim{leads(0, up, up+longest, grid), again}, dims...)
			break
		}
		c.Rules = []Rule{{Misfortune: Hang, From: up}, {Clock: fakeruntime.AfterSigterm}, down}
		dims = append([]dim{leads(1, 0, s.shutdown(longest), grid), again}, dims...)
	case AfterStartupKill:
		c.Instance = 1
		c.Rules = []Rule{{Clock: fakeruntime.AfterSigterm}, down}
		dims = append([]dim{leads(0, 0, s.shutdown(longest), grid), again}, dims...)
	case AfterCrashWhileStarting:
		limit, err := s.start(Case{Uptime: c.Uptime, Delays: c.Delays, StartJitter: 0.5, SyncJitter: 0.5, Rules: []Rule{down}})
		if err != nil || limit.bound.Least == Never {
			return limit.bound, err
		}
		c.Instance = 1
		c.Rules = []Rule{{Exit: 1, From: limit.bound.Least / 2}, down}
		dims = append([]dim{leads(0, time.Millisecond, limit.bound.Least, grid), again}, dims...)
	}
	return extremes(s.relistPhases(c), n.only(dims), s.start)
}

// relistPhases returns the case on kubelets of several ages, since the phase of the relists and the begin of the start can
// shift a limit together.
func (s *Subject) relistPhases(c Case) []Case {
	var list []Case
	for i := range time.Duration(4) {
		c.Uptime += relistPeriod / 4 * min(i, 1)
		list = append(list, c)
	}
	return list
}

// leads returns the dimension of the time of what leads to the misfortune, which is a rule of the case.
func leads(rule int, from, to, grid time.Duration) dim {
	return dim{
		from: from, to: to, grid: grid,
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
	return sample{bound: at(limit, c), signature: h.signature(trace.Startup, trace.Liveness)}, nil
}
