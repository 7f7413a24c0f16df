package bounds

import (
	"errors"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Shown is the run of a case.
type Shown struct {
	Records []trace.Record
	Until   virtual.Time // end of the run
	Outcome virtual.Time // time of what the question asks for, such as the stop signal
	Happens string       // what it is: "the container is stopped"
}

// afterOutcome is how long a run that is shown goes on after its outcome.
const afterOutcome = 15 * time.Second

// Show runs a case in which a bound has its least or its greatest value: AtLeast or AtGreatest. A misfortune lasts for ever, so the run
// shows when its outcome comes at the earliest or at the latest.
//
// The error is one of the context, or says that there is no run for the bound.
func (s *Subject) Show(c Case) (Shown, error) {
	if c.question == nil {
		return Shown{}, errors.New("there is no run for this bound")
	}
	one, err := c.question.measure(s, c)
	if err != nil {
		return Shown{}, err
	}
	if one.bound.Least == Never {
		return Shown{}, errNothing
	}
	c = one.bound.AtLeast // with its rules
	shown := Shown{Until: virtual.At(one.outcome + afterOutcome), Outcome: virtual.At(one.outcome), Happens: c.question.happens}
	to := &trace.Recorder{}
	_, err = s.record(&c, to, shown.Until.Offset(), func(*trace.Record) bool { return false })
	shown.Records = to.Records()
	if errors.Is(err, errNothing) { // the run has no end of its own
		err = nil
	}
	return shown, err
}
