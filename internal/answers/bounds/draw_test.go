package bounds_test

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/podutil"
	"probesim.dev/scenarios/format"
)

// drawNode draws the latencies and the phases of a node.
func (s *Subject) drawNode(p *Phases) Case {
	_, longest := s.periods()
	c := Case{Seed: int64(p.part("seed") * 1e6), Uptime: p.in("uptime", longest+time.Second, longest+21*time.Second)}
	own, all := reflect.ValueOf(&c.Delays).Elem(), reflect.ValueOf(s.Delays)
	for i := range own.NumField() {
		if r := all.Field(i).Interface().(*fakeruntime.Draw); r != nil {
			own.Field(i).Set(reflect.ValueOf(new(fakeruntime.Exactly(p.edge(own.Type().Field(i).Name, r.Min, r.Max)))))
		}
	}
	for _, of := range s.probes() {
		if s.Bounds.Probe(of).InitialDelaySeconds > 0 { // which counts from a start in whole seconds
			c.Wall = p.in("wall", 0, time.Second-1)
		}
	}
	if s.init() != "" {
		c.InitRuns = time.Second + p.in("init", 0, longest)
	}
	return c
}

// answers returns a rule with the answers of the program during a misfortune.
func (s *Subject) answers(r format.RuleText, m bounds.Misfortune) format.RuleText {
	for _, p := range s.probes() {
		word := string(m)
		switch probe := s.Bounds.Probe(p); {
		case (m == bounds.Slow || m == bounds.Fail) && probe.TCPSocket != nil: // the kernel of the node accepts
			continue
		case m == bounds.Slow:
			word = "ok in " + (2 * bounds.LongestTime * time.Second).String()
		case m == bounds.Refuse && probe.Exec != nil:
			word = "fail"
		}
		r.Answer(string(p), word)
	}
	return r
}

// down is a rule of an instance that never comes up.
func (s *Subject) down(instance int) format.RuleText {
	return s.answers(format.RuleText{Instance: strconv.Itoa(instance)}, bounds.Refuse)
}

// ends is the rule of an instance that the kubelet stops. The exit code is one after which the
// container restarts: with restartPolicy OnFailure, a program that exits with 0 need not restart.
func (s *Subject) ends(p *Phases, instance int) format.RuleText {
	r := format.RuleText{Instance: strconv.Itoa(instance), AfterSigterm: p.edge("shutdown", 0, 20*time.Second).String(),
		Exit: "0"}
	if !podutil.ContainerShouldRestart(podutil.Find(s.Pod, s.Container), &s.Pod.Spec, 0) {
		r.Exit = "1"
	}
	return r
}

// drawStart draws a start that never comes to its end, and the instances before it.
func (s *Subject) drawStart(p *Phases, which bounds.StartCase) (Case, bool) {
	c := s.drawNode(p)
	shortest, longest := s.periods()
	up := s.settles()
	crash := func(least, greatest time.Duration) format.RuleText {
		after := p.in(fmt.Sprint("crash ", c.Instance), least, greatest)
		return format.RuleText{Instance: strconv.Itoa(c.Instance), After: after.String(), Exit: "1"}
	}
	switch which {
	case bounds.YoungKubelet:
		c.Uptime = p.in("age", time.Millisecond, shortest-1)
	case bounds.AfterStartupKill:
		c.Rules, c.Instance = []format.RuleText{s.down(0), s.ends(p, 0)}, 1
	case bounds.AfterCrashWhileStarting:
		limit := s.Bounds.Start(bounds.FirstInstance).Least
		if limit == bounds.Never {
			return c, false
		}
		c.Rules, c.Instance = []format.RuleText{s.down(0), crash(time.Millisecond, limit)}, 1
	case bounds.AfterCrash:
		for n := 1 + int(p.part("instances")*3); c.Instance < n; c.Instance++ {
			c.Rules = append(c.Rules, crash(up, up+3*longest))
		}
	case bounds.AfterLivenessKill: // a later restart can wait for the back-off
		for n := 1 + int(p.part("instances")*5); c.Instance < n; c.Instance++ {
			after := p.in(fmt.Sprint("hang ", c.Instance), up, up+3*longest)
			hang := format.RuleText{Instance: strconv.Itoa(c.Instance), After: after.String()}
			c.Rules = append(c.Rules, s.answers(hang, bounds.Hang), s.ends(p, c.Instance))
		}
	}
	c.Rules = append(c.Rules, s.down(c.Instance))
	return c, true
}

// drawEvent draws a misfortune of a healthy container. The phases of the probes against each other
// change with its time.
func (s *Subject) drawEvent(p *Phases, m bounds.Misfortune) Case {
	c, from := s.drawNode(p), s.settles()
	c.Event = p.in("event", from, from+150*time.Second)
	event := s.answers(format.RuleText{At: c.Event.String()}, m)
	if m == bounds.Stall { // a rule with it has an end, which is after that of the run here
		event.For = (10 * bounds.LongestLimit).String()
	}
	c.Rules = []format.RuleText{event}
	return c
}

// drawUp draws the moment at which a starting program is up: with the start of the container, or
// later.
func (s *Subject) drawUp(p *Phases, atOnce, young bool) Case {
	c := s.drawNode(p)
	_, longest := s.periods()
	if young {
		c.Uptime = p.in("age", time.Millisecond, longest-1)
	}
	if !atOnce {
		latest := s.settles() + min(10*longest, s.Bounds.Start(bounds.FirstInstance).Greatest)
		up := s.UpAt(p.in("up", time.Millisecond, latest))
		c.Event, c.Rules = up.Event, up.Rules
	}
	return c
}

// UpAt returns the case of a program that comes up at a virtual time.
func (s *Subject) UpAt(t time.Duration) Case {
	return Case{Event: t, Rules: []format.RuleText{s.answers(format.RuleText{At: "0s", For: t.String()},
		bounds.Refuse)}}
}
