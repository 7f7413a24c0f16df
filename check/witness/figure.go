package witness

import (
	"fmt"
	"strings"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/trace"
)

// Figure is one figure of a container: a case of a row, or another one.
type Figure struct {
	Name  string
	Range func(*bounds.Container) bounds.Range
	Needs trace.Probe // a probe without which a container does not have the figure
	// Draw draws a case. It reports false if the container has none with these phases.
	Draw func(*Subject, *Phases) (Case, bool)
	// Measure reads the figure from the run of a case. The error says that the case does not count.
	Measure func(*Subject, *Case) (Measured, error)

	limit   bool // it says how long the misfortune may last; otherwise when the outcome comes
	outcome outcome
}

// outcome is what happens in the runs of a figure.
type outcome struct {
	says    string // in a sentence
	matches string // the fields of an expectation about the container
	is      func(*Subject, *trace.Record) bool
}

var (
	stopped = outcome{"the container is stopped", "record: {kind: ContainerStopping}", (*Subject).Stopped}
	ready   = outcome{"the container becomes ready", "becomes: {ready: true}", (*Subject).Ready}
	unready = outcome{"the container becomes not ready", "becomes: {ready: false}", (*Subject).Unready}
)

// figureOf returns the figure of a case of a row, or nil if no run shows it.
func figureOf(row check.RowID, which string) *Figure {
	switch row {
	case check.Start, check.Restart, check.Retry:
		return new(Start(bounds.StartCase(which)))
	case check.Stall:
		return new(Survives(bounds.Stall))
	case check.Silence:
		return new(Survives(bounds.Hang))
	case check.Serving:
		return new(StaysReady(bounds.Stall))
	case check.Unready:
		return new(Unready(bounds.Refuse))
	case check.Detect:
		return new(Stopped(bounds.Hang))
	case check.Ready:
		return new(Ready(strings.HasPrefix(which, check.UpAtOnce), strings.HasSuffix(which, check.OnYoungKubelet)))
	}
	return nil
}

// Start is how long a start may take.
func Start(which bounds.StartCase) Figure {
	needs := trace.Liveness
	if which == bounds.AfterStartupKill {
		needs = trace.Startup
	}
	killed := stopped
	killed.says += " while it starts"
	return Figure{
		Name: string(which), Needs: needs, limit: true, outcome: killed,
		Range:   func(b *bounds.Container) bounds.Range { return b.Start(which) },
		Draw:    func(s *Subject, p *Phases) (Case, bool) { return s.drawStart(p, which) },
		Measure: func(s *Subject, c *Case) (Measured, error) { return s.start(c, which) },
	}
}

// Survives is how long a misfortune may last without a stop.
func Survives(m bounds.Misfortune) Figure {
	return lasting("survives ", m, trace.Liveness, stopped, (*bounds.Container).Survives)
}

// StaysReady is how long a misfortune may last in which the container stays ready.
func StaysReady(m bounds.Misfortune) Figure {
	return lasting("stays ready ", m, trace.Readiness, unready, (*bounds.Container).StaysReady)
}

// Stopped is the time until the stop signal.
func Stopped(m bounds.Misfortune) Figure {
	return after("until stopped ", m, trace.Liveness, stopped, (*bounds.Container).UntilStopped)
}

// Unready is the time until the status is not ready.
func Unready(m bounds.Misfortune) Figure {
	return after("until unready ", m, trace.Readiness, unready, (*bounds.Container).UntilUnready)
}

// lasting is a limit of a misfortune of a healthy container.
func lasting(name string, m bounds.Misfortune, needs trace.Probe, o outcome, of func(*bounds.Container, bounds.Misfortune) bounds.Range) Figure {
	return Figure{
		Name: name + string(m), Needs: needs, limit: true, outcome: o,
		Range:   func(b *bounds.Container) bounds.Range { return of(b, m) },
		Draw:    func(s *Subject, p *Phases) (Case, bool) { return s.drawEvent(p, m) },
		Measure: func(s *Subject, c *Case) (Measured, error) { return s.lasting(c, m, o) },
	}
}

// after is a time from a misfortune of a healthy container until its outcome.
func after(name string, m bounds.Misfortune, needs trace.Probe, o outcome, of func(*bounds.Container, bounds.Misfortune) bounds.Time) Figure {
	f := lasting(name, m, needs, o, func(b *bounds.Container, m bounds.Misfortune) bounds.Range { return of(b, m).Range })
	f.limit, f.Measure = false, func(s *Subject, c *Case) (Measured, error) { return s.after(c, o) }
	return f
}

// Ready is the time from up until ready.
func Ready(atOnce, young bool) Figure {
	name, of := "until ready", (*bounds.Container).UntilReady
	if young {
		name, of = "until ready on a young kubelet", (*bounds.Container).UntilReadyOnYoungKubelet
	}
	return Figure{
		Name: fmt.Sprintf("%s, at once %v", name, atOnce), outcome: ready,
		Range:   func(b *bounds.Container) bounds.Range { return of(b, atOnce).Range },
		Draw:    func(s *Subject, p *Phases) (Case, bool) { return s.drawUp(p, atOnce, young) },
		Measure: (*Subject).untilReady,
	}
}

// expectation returns the expectation that the outcome of a case happens in a window, or not.
func (o *outcome) expectation(s *Subject, c *Case, window string) string {
	instance := ""
	if o.matches == stopped.matches {
		instance = fmt.Sprintf("instance: %d, ", c.Instance)
	}
	return fmt.Sprintf("%s, container: %s, %s%s", window, s.Container, instance, o.matches)
}
