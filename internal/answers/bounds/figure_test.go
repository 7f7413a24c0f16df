package bounds_test

import (
	"slices"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/trace"
)

// Figure is one figure of a container: a case of a row, or another one. It is about a start that
// never comes to its end, or about a misfortune of a healthy container. With neither, it is the
// time from up until ready.
type Figure struct {
	Start         bounds.StartCase
	Misfortune    bounds.Misfortune
	AtOnce, Young bool // of until ready: the program is up when the container starts; the kubelet is young
	Outcome       Outcome
	Limit         bool          // it says how long the misfortune may last; otherwise when the outcome comes
	Most          time.Duration // what the figure can be; a run without an outcome ends some time after it
}

// Outcome is what happens in the runs of a figure.
type Outcome string

const (
	Stopped Outcome = "the container is stopped"
	Ready   Outcome = "the container becomes ready"
	Unready Outcome = "the container becomes not ready"
)

// Draw draws a case. It reports false if the container has none with these phases.
func (f *Figure) Draw(s *Subject, p *Phases) (Case, bool) {
	switch {
	case f.Start != "":
		return s.drawStart(p, f.Start)
	case f.Misfortune != "":
		return s.drawEvent(p, f.Misfortune), true
	}
	return s.drawUp(p, f.AtOnce, f.Young), true
}

// Measure reads the figure from the run of a case. The error says that the case does not count.
func (f *Figure) Measure(s *Subject, c *Case) (Measured, error) {
	until := c.Event + 2*s.settles() + time.Hour
	if f.Most <= bounds.LongestLimit {
		until += 3 * f.Most
	}
	switch {
	case f.Start != "":
		return s.start(c, f.Start, until)
	case f.Misfortune != "":
		return s.event(c, f, until)
	}
	return s.untilReady(c, until)
}

// Shows reports whether a record is the outcome: the stop signal of the first instance, or a status
// in the API that says so.
func (o Outcome) Shows(s *Subject, r *trace.Record) bool {
	if o == Stopped {
		return s.of(trace.ContainerStopping, 0)(r)
	}
	return r.Kind == trace.StatusPatched && r.Status != nil &&
		slices.ContainsFunc(r.Status.Containers, func(c trace.ContainerStatus) bool {
			return c.Name == s.Container && c.Ready == (o == Ready)
		})
}
