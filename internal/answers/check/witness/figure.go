package witness

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
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

// figureOf returns the figure of a case of a row.
func figureOf(row check.RowID, which string) Figure {
	switch row {
	case check.Stall:
		return Figure{Misfortune: bounds.Stall, Outcome: Stopped, Limit: true}
	case check.Silence:
		return Figure{Misfortune: silence(which), Outcome: Stopped, Limit: true}
	case check.ServingSilence:
		return Figure{Misfortune: silence(which), Outcome: Unready, Limit: true}
	case check.HungUnready:
		return Figure{Misfortune: bounds.Hang, Outcome: Unready}
	case check.Serving:
		return Figure{Misfortune: bounds.Stall, Outcome: Unready, Limit: true}
	case check.Unready:
		return Figure{Misfortune: bounds.Refuse, Outcome: Unready}
	case check.Detect:
		return Figure{Misfortune: bounds.Hang, Outcome: Stopped}
	case check.Ready:
		return Figure{AtOnce: which == check.UpAtOnce, Outcome: Ready}
	}
	return Figure{Start: bounds.StartCase(which), Outcome: Stopped, Limit: true}
}

// silence returns the misfortune of a case of a program that does not answer in time.
func silence(which string) bounds.Misfortune {
	if which == check.LateAnswers {
		return bounds.Slow
	}
	return bounds.Hang
}

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

// says is the outcome in a sentence.
func (f *Figure) says() string {
	if f.Start != "" {
		return string(f.Outcome) + " while it starts"
	}
	return string(f.Outcome)
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

// expectation returns the expectation that the outcome of a case happens in a window, or not.
func (o Outcome) expectation(s *Subject, c *Case, window string) string {
	matches := fmt.Sprintf("becomes: {ready: %v}", o == Ready)
	if o == Stopped {
		matches = fmt.Sprintf("instance: %d, record: {kind: ContainerStopping}", c.Instance)
	}
	return fmt.Sprintf("%s, container: %s, %s", window, s.Container, matches)
}
