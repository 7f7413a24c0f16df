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

// Start returns how long the container may take to start: how long an instance may refuse all probes, counted from its start,
// without a probe that stops it.
func (s *Subject) Start(n Nodes, which StartCase) (Bound, error) {
	if s.killer() == "" {
		return Bound{}, fmt.Errorf("container %s has no startup and no liveness probe", s.Container)
	}
	c := s.center(n)
	c.question = &asked{limit: true, measure: s.start, happens: "the container is stopped while it starts"}
	down := Rule{Instance: AnyInstance, Misfortune: Refuse}
	c.Rules = []Rule{down}
	shortest, longest := s.periods()
	grid := shortest / 4
	// A dimension that moves the start moves it against the ticks of the probes, alone or together with the relists and the wall
	// clock. Each of the three can decide when the probe begins to count, so both ways are needed.
	var dims []dim
	move := func(d dim) { dims = append(dims, d.aligned(c.Uptime), d) }
	again := n.total(longest, grid, s.starts()...)
	switch which {
	case FirstInstance, YoungKubelet:
		if which == YoungKubelet {
			c.Uptime = time.Millisecond
			move(startJitters(time.Duration(s.Probe(s.killer()).PeriodSeconds) * time.Second))
		}
		move(n.total(longest, grid, append([]delay{runPodSandbox}, s.starts()...)...))
	case AfterLivenessKill, AfterCrash:
		up, err := s.up(c)
		if err != nil {
			return Bound{}, err
		}
		down.Instance, c.Instance = 1, 1
		if which == AfterCrash {
			c.Rules = []Rule{{Exit: 1, From: up}, down}
			move(leads(0, up, up+longest, grid))
		} else {
			c.Rules = []Rule{{Misfortune: Hang, From: up}, {Clock: fakeruntime.AfterSigterm}, down}
			move(leads(1, 0, s.shutdown(longest), grid))
		}
		move(again)
	case AfterStartupKill:
		c.Instance = 1
		c.Rules = []Rule{{Clock: fakeruntime.AfterSigterm}, down}
		move(leads(0, 0, s.shutdown(longest), grid))
		move(again)
	case AfterCrashWhileStarting:
		limit, err := s.start(Case{Uptime: c.Uptime, Delays: c.Delays, StartJitter: 0.5, SyncJitter: 0.5, Rules: []Rule{down}})
		if err != nil || limit.bound.Least == Never {
			return limit.bound, err
		}
		c.Instance = 1
		c.Rules = []Rule{{Exit: 1, From: limit.bound.Least / 2}, down}
		move(leads(0, time.Millisecond, limit.bound.Least, grid))
		move(again)
	}
	c.question.expect = s.stopping(c.Instance)
	dims = append(append(dims, uptimes(&c)), n.dims(looks...)...)
	if s.delayed(c.Instance) {
		return extremes(c, n.only(dims), s.startAtSecond)
	}
	return extremes(c, n.only(dims), s.start)
}

// startAtSecond measures how long an instance may take to start if the wall clock has any phase. The kubelet truncates the start to
// the second. So the probes wait the shortest time for initialDelaySeconds if the instance starts just before a second begins, and
// the longest time if it starts when the second begins.
func (s *Subject) startAtSecond(c Case) (sample, error) {
	h, err := s.run(&c, s.started(c.Instance))
	if errors.Is(err, errNothing) {
		return sample{bound: at(Never, c)}, nil
	}
	if err != nil {
		return sample{}, err
	}
	c.Wall = modulo(c.Wall-c.wall(h.outcome().T), time.Second)
	begins, err := s.start(c)
	if err != nil {
		return sample{}, err
	}
	c.Wall = modulo(c.Wall-1, time.Second)
	before, err := s.start(c)
	return sample{bound: begins.bound.Or(before.bound), signature: begins.signature ^ before.signature<<1}, err
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
	return sample{bound: at(limit, c), outcome: h.outcome().T.Offset(), signature: h.signature(trace.Startup, trace.Liveness)}, nil
}
