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
	f := Figure{Name: string(which), Needs: trace.Liveness, limit: true, outcome: stopped}
	if which == bounds.AfterStartupKill {
		f.Needs = trace.Startup
	}
	f.outcome.says += " while it starts"
	f.Range = func(b *bounds.Container) bounds.Range { return b.Start(which) }
	f.Draw = func(s *Subject, p *Phases) (Case, bool) { return s.drawStart(p, which) }
	f.Measure = func(s *Subject, c *Case) (Measured, error) { return f.start(s, c, which) }
	return f
}

// Survives is how long a misfortune may last without a stop.
func Survives(m bounds.Misfortune) Figure {
	return ofMisfortune(Figure{Name: "survives ", Needs: trace.Liveness, limit: true, outcome: stopped}, m, (*bounds.Container).Survives)
}

// StaysReady is how long a misfortune may last in which the container stays ready.
func StaysReady(m bounds.Misfortune) Figure {
	return ofMisfortune(Figure{Name: "stays ready ", Needs: trace.Readiness, limit: true, outcome: unready}, m, (*bounds.Container).StaysReady)
}

// Stopped is the time until the stop signal.
func Stopped(m bounds.Misfortune) Figure {
	return ofMisfortune(Figure{Name: "until stopped ", Needs: trace.Liveness, outcome: stopped}, m, rangeOf((*bounds.Container).UntilStopped))
}

// Unready is the time until the status is not ready.
func Unready(m bounds.Misfortune) Figure {
	return ofMisfortune(Figure{Name: "until unready ", Needs: trace.Readiness, outcome: unready}, m, rangeOf((*bounds.Container).UntilUnready))
}

func rangeOf(of func(*bounds.Container, bounds.Misfortune) bounds.Time) func(*bounds.Container, bounds.Misfortune) bounds.Range {
	return func(b *bounds.Container, m bounds.Misfortune) bounds.Range { return of(b, m).Range }
}

// ofMisfortune completes the figure of a misfortune of a healthy container.
func ofMisfortune(f Figure, m bounds.Misfortune, of func(*bounds.Container, bounds.Misfortune) bounds.Range) Figure {
	f.Name += string(m)
	f.Range = func(b *bounds.Container) bounds.Range { return of(b, m) }
	f.Draw = func(s *Subject, p *Phases) (Case, bool) { return s.drawEvent(p, m) }
	f.Measure = func(s *Subject, c *Case) (Measured, error) { return f.event(s, c, m) }
	return f
}

// Ready is the time from up until ready.
func Ready(atOnce, young bool) Figure {
	f := Figure{Name: fmt.Sprintf("until ready, at once %v", atOnce), outcome: ready}
	of := (*bounds.Container).UntilReady
	if young {
		f.Name, of = fmt.Sprintf("until ready on a young kubelet, at once %v", atOnce), (*bounds.Container).UntilReadyOnYoungKubelet
	}
	f.Range = func(b *bounds.Container) bounds.Range { return of(b, atOnce).Range }
	f.Draw = func(s *Subject, p *Phases) (Case, bool) { return s.drawUp(p, atOnce, young) }
	f.Measure = f.untilReady
	return f
}

// expectation returns the expectation that the outcome of a case happens in a window, or not.
func (o *outcome) expectation(s *Subject, c *Case, window string) string {
	instance := ""
	if o.matches == stopped.matches {
		instance = fmt.Sprintf("instance: %d, ", c.Instance)
	}
	return fmt.Sprintf("%s, container: %s, %s%s", window, s.Container, instance, o.matches)
}
