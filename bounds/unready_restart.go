package bounds

import (
	"errors"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// aroundRestart extends a bound of the time until a status is not ready by cases in which the liveness probe stops the container, and what happens
// around its restart comes as early or as late as it can. The goal is that of the bound.
func (s *Subject) aroundRestart(b Bound, n Nodes, dims []dim, g *goal) (Bound, error) {
	shown := Bound{Least: b.LeastShown(), AtLeast: b.AtLeast, Greatest: b.GreatestShown(), AtGreatest: b.AtGreatest, Mean: b.Mean, goal: g}
	for _, greatest := range []bool{false, true} {
		var err error
		if shown, err = s.relistAtRestart(shown, dims, greatest); err != nil {
			return b, err
		}
	}
	if shown.found(true) {
		return shown.atGoal(), nil
	}
	liveness, readiness := s.Probe(trace.Liveness).PeriodSeconds, s.Probe(trace.Readiness).PeriodSeconds
	phases := s.period(trace.Liveness) * time.Duration(readiness/divisor(liveness, readiness))
	late, err := s.aim(at(shown.Greatest, shown.AtGreatest), n, phases) // the sync that stops the container can wait
	return shown.Or(late).atGoal(), err
}

// relistAtRestart extends a bound by cases in which a relist begins just after the start of the next instance, or has just listed what runs. For the
// greatest time, the housekeeping begins just before the verdict too.
func (s *Subject) relistAtRestart(b Bound, dims []dim, greatest bool) (Bound, error) {
	c, off := b.end(greatest).corner(greatest, dims), fine
	if greatest {
		off = -c.lists() - fine
	}
	for i := range restartSteps + 1 {
		r, err := s.restartOf(c, off)
		if err != nil || r.relist == 0 {
			return b, err
		}
		one, err := c.question.measure(s, c)
		if err != nil {
			return b, err
		}
		if b = b.Or(one.bound); b.found(greatest) {
			break
		}
		c = c.aged(c.Uptime + r.relist.Sub(r.started.Add(off)))
		if greatest && i < restartSteps/2 {
			c = c.aged(ageAfter(c.Uptime, c.relistPeriod(), fine-r.verdict.Offset()))
		}
	}
	return b, nil
}

// restartSteps is the number of steps of relistAtRestart. A step moves the relists against the start, which changes a little when the kubelet
// sees the exit.
const restartSteps = 4

// restart are times of a restart after a verdict of the liveness probe.
type restart struct {
	verdict, started virtual.Time
	relist           virtual.Time // the begin of the first one that is some time after the start; 0: none
}

// restartOf returns the restart of the container in a case, and the first relist that begins some time after the start. It returns zero values if the
// container is not ready when the misfortune begins, or does not start again.
func (s *Subject) restartOf(c Case, after time.Duration) (r restart, err error) {
	var relists []virtual.Time
	var last virtual.Time
	ready := false
	started, stopping := s.started(1), s.stopped(0)
	_, err = s.record(&c, &trace.Recorder{Internal: true, Sink: func(*trace.Record) {}}, s.longestRun(), func(one *trace.Record) bool {
		switch {
		case one.T < virtual.At(c.Event):
			ready = ready || s.ready(one)
		case !ready:
			return true
		case started(one):
			r.started = one.T
		case stopping(one):
			r.verdict = last
		case one.Kind == trace.ProbeExecuted && one.Probe == trace.Liveness && one.Container == s.Container:
			last = one.T
		case s.isRelist(&c, one):
			relists = append(relists, request(one))
		}
		return r.started > 0 && one.T > r.started.Add(2*c.relistPeriod())
	})
	if errors.Is(err, errNothing) || r.started == 0 {
		return restart{}, nil
	}
	if i := slices.IndexFunc(relists, func(t virtual.Time) bool { return t >= r.started.Add(after) }); i >= 0 {
		r.relist = relists[i]
	}
	return r, err
}
