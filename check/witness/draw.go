package witness

import (
	"time"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// startsWithin is the virtual time within which the container has started on each of the nodes.
func (s *Subject) startsWithin() time.Duration {
	within := 5 * time.Second
	for _, d := range []*fakeruntime.Draw{s.Delays.RunPodSandbox, s.Delays.VolumeMount} {
		if d != nil {
			within += d.Max
		}
	}
	each := 2 * time.Second
	for _, d := range []*fakeruntime.Draw{s.Delays.ImagePull, s.Delays.CreateContainer, s.Delays.StartContainer} {
		if d != nil {
			each += d.Max
		}
	}
	for c := range podutil.Containers(&s.Pod.Spec) {
		within += each
		if c.Lifecycle != nil {
			within += 10 * time.Second
			if hook := c.Lifecycle.PostStart; hook != nil && hook.Sleep != nil {
				within += time.Duration(hook.Sleep.Seconds) * time.Second
			}
		}
	}
	if s.init() != "" {
		_, longest := s.periods()
		within += longest
	}
	return within
}

// drawStart draws a start.
func (s *Subject) drawStart(p *Phases, which bounds.StartCase) (Case, bool) {
	c := s.node(p)
	down := Rule{Instance: AnyInstance, Misfortune: bounds.Refuse}
	_, longest := s.periods()
	up := s.settles()
	crash := func(instance int) Rule {
		return Rule{Instance: instance, Exit: 1, From: p.in("crash "+string(rune('0'+instance)), up, up+3*longest)}
	}
	switch which {
	case bounds.FirstInstance:
		c.Rules = []Rule{down}
	case bounds.YoungKubelet:
		shortest, _ := s.periods()
		c.Uptime = p.in("age", time.Millisecond, shortest-1)
		c.Rules = []Rule{down}
	case bounds.AfterStartupKill:
		c.Instance = 1
		c.Rules = []Rule{s.ends(p, 0), down}
	case bounds.AfterCrashWhileStarting:
		limit := s.Bounds.Start(bounds.FirstInstance).Least
		if limit == bounds.Never {
			return c, false
		}
		c.Instance = 1
		c.Rules = []Rule{{Exit: 1, From: p.in("crash", time.Millisecond, limit)}, down}
	case bounds.AfterCrash:
		c.Instance = 1 + int(p.part("crashes")*3)
		if p.part("one crash") < 0.5 {
			c.Instance = 1
		}
		for i := range c.Instance {
			c.Rules = append(c.Rules, crash(i))
		}
		down.Instance = c.Instance
		c.Rules = append(c.Rules, down)
	case bounds.AfterLivenessKill:
		c.Instance = 1
		if p.part("several kills") < 0.4 { // a later restart can wait for the back-off
			c.Instance = 2 + int(p.part("kills")*4)
		}
		for i := range c.Instance {
			hang := Rule{Instance: i, Misfortune: bounds.Hang, From: p.in("hang "+string(rune('0'+i)), up, up+3*longest)}
			c.Rules = append(c.Rules, hang, s.ends(p, i))
		}
		down.Instance = c.Instance
		c.Rules = append(c.Rules, down)
	}
	return c, true
}

// ends returns the rule of an instance that the kubelet stops. The exit code is one after which the container restarts: with restartPolicy OnFailure, a program
// that exits with 0 need not restart.
func (s *Subject) ends(p *Phases, instance int) Rule {
	r := Rule{Instance: instance, Clock: fakeruntime.AfterSigterm, From: p.edge("shutdown", 0, 20*time.Second)}
	if !podutil.ContainerShouldRestart(podutil.Find(s.Pod, s.Container), &s.Pod.Spec, 0) {
		r.Exit = 1
	}
	return r
}

// drawUp draws a moment at which a starting container is up: with its start, or between the first run of the probe that waits for it and the last one that can
// still succeed.
func (s *Subject) drawUp(p *Phases, atOnce, young bool) (Case, bool) {
	c := s.node(p)
	if young {
		_, longest := s.periods()
		c.Uptime = p.in("age", time.Millisecond, longest-1)
	}
	if atOnce {
		return c, true
	}
	down := c
	down.Rules = []Rule{{Instance: AnyInstance, Misfortune: bounds.Refuse}}
	waits := trace.Startup
	if s.probe(waits) == nil {
		waits = trace.Readiness
	}
	var from, to time.Duration
	_, longest := s.periods()
	h, err := s.run(&down, s.startsWithin()+s.settles()+10*longest, func(r *trace.Record) bool {
		if r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == waits {
			if to = request(r).Offset(); from == 0 {
				from = to
			}
		}
		return s.stopped(0)(r)
	})
	if err == nil { // the program must be up before the run that stops the container
		verdict := h.verdictOf(h.outcome())
		if verdict == nil {
			return c, false
		}
		to = min(to, request(verdict).Offset())
	}
	if to <= from {
		return c, false
	}
	up := UpAt(p.in("up", from+1, to))
	c.Event, c.Rules = up.Event, up.Rules
	return c, true
}

// UpAt returns the case of a program that comes up at a virtual time.
func UpAt(t time.Duration) Case {
	return Case{Event: t, Rules: []Rule{{Instance: AnyInstance, Clock: fakeruntime.AtScenario, For: t, Misfortune: bounds.Refuse}}}
}
