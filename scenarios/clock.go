package scenarios

import (
	"slices"
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// StepClock has the wall clock of the node jump. Timers do not.
type StepClock struct {
	By value.Offset `json:"by"`

	text string // as written
}

// maxClockSteps bounds how far the steps of a scenario, added up whatever their signs, move the wall clock, so that it stays near
// the year 2000, in which runs begin.
const maxClockSteps = 365 * 24 * time.Hour

// StepsClock reports whether the wall clock of the node jumps in a scenario.
func (s *Scenario) StepsClock() bool {
	return slices.ContainsFunc(s.Spec.Steps, func(s *Step) bool { return s.StepClock != nil })
}

func (*StepClock) target() string { return "" }

func (*StepClock) name() string { return "stepClock" }

func (s *StepClock) check(c *checker, n *strict.Node) {
	s.text = n.Text()
	by := n.Field("by")
	if s.By == 0 && !n.Bad() && !by.Bad() {
		by.Errorf("is required: say how far the wall clock jumps, as in by: -1m")
		return
	}
	before := c.clockSteps
	if c.clockSteps += s.By.Time().Abs(); before <= maxClockSteps && c.clockSteps > maxClockSteps {
		by.Errorf("the wall clock jumps by more than 365 days in all")
	}
}

// do notes the step before its consequences.
func (s *StepClock) do(d *Driver, _ int) bool {
	d.note(s, s.text)
	d.world.StepClock(s.By.Time())
	return true
}
