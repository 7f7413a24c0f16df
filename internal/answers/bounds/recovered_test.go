package bounds_test

import (
	"errors"
	"fmt"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// recovered is the time from a hang until the next instance is up, which takes a while to start,
// and ready. The node is in the middle of the latencies.
func recovered(start time.Duration) figure {
	f := untilStopped(bounds.Hang)
	f.name = fmt.Sprintf("recovered, start %v", start)
	f.of = func(b *bounds.Container) bounds.Range { return bounds.Range{Greatest: b.UntilRecovered(start)} }
	f.draw = func(s *Subject, p *Phases) (Case, bool) {
		c, ok := f.Draw(s, p)
		c.Seed, c.Delays, c.Wall = -1, s.Delays, 0
		c.Rules[0].Instance = "0"
		c.Rules = append(c.Rules, format.RuleText{Instance: "0", AfterSigterm: "0s", Exit: "never"})
		if up := s.UpAt(start); start > 0 {
			up.Rules[0].At, up.Rules[0].Instance = "", "1"
			c.Rules = append(c.Rules, up.Rules...)
		}
		return c, ok
	}
	f.measure = func(s *Subject, c *Case) (Measured, error) {
		return untilRecovered(s, c, start)
	}
	return f
}

// untilRecovered measures the time from a hang until the next instance is up and ready.
func untilRecovered(s *Subject, c *Case, start time.Duration) (Measured, error) {
	healthy, stopped := false, false
	var up, readySince virtual.Time // zero: not yet
	_, err := s.Run(c, c.Event+2*time.Hour, func(r *trace.Record) bool {
		second := r.Container == s.Container && r.Instance == 1
		switch {
		case Ready.Shows(s, r) && r.T < virtual.At(c.Event):
			healthy = true
		case second && r.Kind == trace.ContainerStarted:
			up = r.T.Add(start)
		case up > 0 && Ready.Shows(s, r) && restarted(s, r): // not the instance before, for a moment
			readySince = r.T
		case up > 0 && Unready.Shows(s, r):
			readySince = 0
		}
		stopped = second && r.Kind == trace.ContainerStopping
		return readySince > 0 && r.T >= up || stopped
	})
	if err != nil || !healthy || stopped {
		return Measured{}, errors.Join(err, errors.New("the container does not recover"))
	}
	at := max(up, readySince).Offset()
	return Measured{Value: at - c.Event, Outcome: at}, nil
}

// restarted reports whether a status shows a later instance of the container.
func restarted(s *Subject, r *trace.Record) bool {
	for i := range r.Status.Containers {
		if c := &r.Status.Containers[i]; c.Name == s.Container {
			return c.RestartCount > 0
		}
	}
	return false
}
