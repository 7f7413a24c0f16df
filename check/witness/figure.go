package witness

import (
	"fmt"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// Figure is one figure of a container: a case of a row, or another one.
type Figure struct {
	Name  string
	Range func(*bounds.Container) bounds.Range
	Needs trace.Probe // a probe without which a container does not have the figure
	limit bool        // it says how long the misfortune may last; otherwise when the outcome comes
	// draw draws a case. It reports false if the container has none with these phases.
	draw func(s *Subject, p *Phases) (Case, bool)
	// measure reads the figure from the run of a case.
	measure func(s *Subject, c *Case) (Measured, error)
	happens string                       // the outcome in a sentence: "the container is stopped"
	expect  func(*Subject, *Case) string // the matcher of the outcome in a scenario file
}

// Measured is what the run of a case shows.
type Measured struct {
	Value   time.Duration
	Outcome time.Duration // the virtual time of the outcome
}

// Draw draws a case and measures its run. It reports false if the case does not count.
func (f *Figure) Draw(s *Subject, p *Phases) (Case, Measured, bool) {
	c, ok := f.draw(s, p)
	if !ok {
		return c, Measured{}, false
	}
	m, err := f.measure(s, &c)
	return c, m, err == nil
}

// Measure reads the figure from the run of a case. The error says that the case does not count.
func (f *Figure) Measure(s *Subject, c *Case) (Measured, error) { return f.measure(s, c) }

// Of returns the figures of a row, in the order of the values of a check.
func Of(row check.RowID, b *bounds.Container) []Figure {
	var list []Figure
	switch row {
	case check.Start, check.Restart, check.Retry:
		for _, v := range check.Values(b, row, 0) {
			list = append(list, Start(bounds.StartCase(v.Case)))
		}
	case check.Stall:
		list = append(list, Survives(bounds.Stall))
	case check.Silence:
		list = append(list, Survives(bounds.Hang))
	case check.Serving:
		list = append(list, StaysReady(bounds.Stall))
	case check.Unready:
		list = append(list, Unready(bounds.Refuse))
	case check.Detect:
		list = append(list, Stopped(bounds.Hang))
	case check.Ready:
		for i := range check.Values(b, row, 0) {
			list = append(list, Ready(i%2 == 0, i > 1))
		}
	}
	return list
}

// All returns all figures.
func All() []Figure {
	var list []Figure
	for _, c := range []bounds.StartCase{
		bounds.FirstInstance, bounds.YoungKubelet, bounds.AfterLivenessKill, bounds.AfterStartupKill, bounds.AfterCrash, bounds.AfterCrashWhileStarting,
	} {
		list = append(list, Start(c))
	}
	for _, m := range []bounds.Misfortune{bounds.Hang, bounds.Stall, bounds.Refuse} {
		list = append(list, Survives(m), StaysReady(m), Stopped(m), Unready(m))
	}
	for _, atOnce := range []bool{true, false} {
		list = append(list, Ready(atOnce, false), Ready(atOnce, true))
	}
	return list
}

// Start is how long a start may take.
func Start(which bounds.StartCase) Figure {
	needs := trace.Liveness
	if which == bounds.AfterStartupKill {
		needs = trace.Startup
	}
	return Figure{
		Name: string(which), Needs: needs, limit: true, happens: "the container is stopped while it starts", expect: stopping,
		Range:   func(b *bounds.Container) bounds.Range { return b.Start(which) },
		draw:    func(s *Subject, p *Phases) (Case, bool) { return s.drawStart(p, which) },
		measure: (*Subject).start,
	}
}

// Survives is how long a misfortune may last without a stop.
func Survives(m bounds.Misfortune) Figure {
	f := event("survives "+string(m), m, trace.Liveness, "the container is stopped", stopping)
	f.limit = true
	f.Range = func(b *bounds.Container) bounds.Range { return b.Survives(m) }
	f.measure = func(s *Subject, c *Case) (Measured, error) { return s.lasting(c, m, s.stops) }
	return f
}

// StaysReady is how long a misfortune may last in which the container stays ready.
func StaysReady(m bounds.Misfortune) Figure {
	f := event("stays ready "+string(m), m, trace.Readiness, "the container becomes not ready", becomesUnready)
	f.limit = true
	f.Range = func(b *bounds.Container) bounds.Range { return b.StaysReady(m) }
	f.measure = func(s *Subject, c *Case) (Measured, error) { return s.lasting(c, m, s.isUnready) }
	return f
}

// Stopped is the time until the stop signal.
func Stopped(m bounds.Misfortune) Figure {
	f := event("until stopped "+string(m), m, trace.Liveness, "the container is stopped", stopping)
	f.Range = func(b *bounds.Container) bounds.Range { return b.UntilStopped(m).Range }
	f.measure = func(s *Subject, c *Case) (Measured, error) { return s.after(c, s.stops) }
	return f
}

// Unready is the time until the status is not ready.
func Unready(m bounds.Misfortune) Figure {
	f := event("until unready "+string(m), m, trace.Readiness, "the container becomes not ready", becomesUnready)
	f.Range = func(b *bounds.Container) bounds.Range { return b.UntilUnready(m).Range }
	f.measure = func(s *Subject, c *Case) (Measured, error) { return s.after(c, s.isUnready) }
	return f
}

// event is a figure of a misfortune of a healthy container.
func event(name string, m bounds.Misfortune, needs trace.Probe, happens string, expect func(*Subject, *Case) string) Figure {
	return Figure{
		Name: name, Needs: needs, happens: happens, expect: expect,
		draw: func(s *Subject, p *Phases) (Case, bool) {
			c := s.node(p)
			from, repeat := s.startsWithin()+s.settles(), 150*time.Second // the phases of the probes against each other change with the time
			c.Event = p.in("event", from, from+repeat)
			c.Rules = []Rule{{Instance: AnyInstance, Clock: fakeruntime.AtScenario, From: c.Event, Misfortune: m}}
			return c, true
		},
	}
}

// Ready is the time from up until ready.
func Ready(atOnce, young bool) Figure {
	name, of := "until ready", (*bounds.Container).UntilReady
	if young {
		name, of = "until ready on a young kubelet", (*bounds.Container).UntilReadyOnYoungKubelet
	}
	return Figure{
		Name: fmt.Sprintf("%s, at once %v", name, atOnce), happens: "the container becomes ready", expect: becomesReady,
		Range:   func(b *bounds.Container) bounds.Range { return of(b, atOnce).Range },
		draw:    func(s *Subject, p *Phases) (Case, bool) { return s.drawUp(p, atOnce, young) },
		measure: (*Subject).untilReady,
	}
}

// Recovered is the time from a hang until the next instance is up, which takes a while to start, and ready. The node is in the middle of the latencies.
func Recovered(start time.Duration) Figure {
	f := event(fmt.Sprintf("recovered, start %v", start), bounds.Hang, trace.Liveness, "the container is ready again", becomesReady)
	f.Range = func(b *bounds.Container) bounds.Range { return b.UntilRecovered(start).Range }
	draw := f.draw
	f.draw = func(s *Subject, p *Phases) (Case, bool) {
		c, ok := draw(s, p)
		c.Seed, c.Delays, c.Wall = -1, s.Delays, 0
		c.Rules[0].Instance = 0
		c.Rules = append(c.Rules, Rule{Instance: 0, Clock: fakeruntime.AfterSigterm, NeverExits: true})
		if start > 0 {
			c.Rules = append(c.Rules, Rule{Instance: 1, For: start, Misfortune: bounds.Refuse})
		}
		return c, ok
	}
	f.measure = func(s *Subject, c *Case) (Measured, error) { return s.recovered(c, start) }
	return f
}

// stopping, becomesReady and becomesUnready match outcomes in scenario files.
func stopping(s *Subject, c *Case) string {
	return fmt.Sprintf("container: %s, instance: %d, record: {kind: ContainerStopping}", s.Container, c.Instance)
}

func becomesReady(s *Subject, _ *Case) string {
	return fmt.Sprintf("container: %s, becomes: {ready: true}", s.Container)
}

func becomesUnready(s *Subject, _ *Case) string {
	return fmt.Sprintf("container: %s, becomes: {ready: false}", s.Container)
}
