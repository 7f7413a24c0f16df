package witness

import (
	"time"

	"probesim.dev/bounds"
	"probesim.dev/kube/podutil"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The value of a limit is read from a run in which the misfortune lasts for ever: the request of the run that reaches the threshold decides, and a misfortune
// that ends before it changes nothing up to then.

func (h history) outcome() *trace.Record { return &h[len(h)-1] }

// verdictOf returns the probe run that caused a record, or nil.
func (h history) verdictOf(of *trace.Record) *trace.Record {
	for r := of; r.Cause > 0; {
		if r = &h[r.Cause-1]; r.Kind == trace.ProbeExecuted {
			return r
		}
	}
	return nil
}

// request is the time at which a probe run began.
func request(r *trace.Record) virtual.Time { return r.T.Add(-r.Took) }

// first returns the first record that matches, or nil.
func (h history) first(match func(*trace.Record) bool) *trace.Record {
	for i := range h {
		if match(&h[i]) {
			return &h[i]
		}
	}
	return nil
}

func (s *Subject) started(instance int) func(*trace.Record) bool {
	return s.of(trace.ContainerStarted, instance)
}
func (s *Subject) stopped(instance int) func(*trace.Record) bool {
	return s.of(trace.ContainerStopping, instance)
}

func (s *Subject) of(kind trace.Kind, instance int) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		return r.Kind == kind && r.Container == s.Container && r.Instance == instance
	}
}

// stops reports whether the first instance gets the stop signal.
func (s *Subject) stops(r *trace.Record) bool { return s.stopped(0)(r) }

// isReady and isUnready report whether a status in the API says that the container is or is not ready.
func (s *Subject) isReady(r *trace.Record) bool   { return s.patched(r, true) }
func (s *Subject) isUnready(r *trace.Record) bool { return s.patched(r, false) }

// restarted reports whether a status shows a later instance of the container.
func (s *Subject) restarted(r *trace.Record) bool {
	for i := range r.Status.Containers {
		if c := &r.Status.Containers[i]; c.Name == s.Container {
			return c.RestartCount > 0
		}
	}
	return false
}

func (s *Subject) patched(r *trace.Record, ready bool) bool {
	if r.Kind != trace.StatusPatched || r.Status == nil {
		return false
	}
	for i := range r.Status.Containers {
		if c := &r.Status.Containers[i]; c.Name == s.Container {
			return c.Ready == ready
		}
	}
	return false
}

// start measures how long an instance may take to start.
func (s *Subject) start(c *Case) (Measured, error) {
	h, err := s.run(c, s.longestRun(), s.stopped(c.Instance))
	if err != nil {
		return Measured{}, err
	}
	verdict, started := h.verdictOf(h.outcome()), h.first(s.started(c.Instance))
	if verdict == nil || started == nil || !s.endsBefore(h, c) {
		return Measured{}, errNothing
	}
	return Measured{s.lastChance(h, verdict, c).Sub(started.T), h.outcome().T.Offset()}, nil
}

// endsBefore reports whether the previous instance of a run has ended as the case says: by itself, or by a liveness kill.
func (s *Subject) endsBefore(h history, c *Case) bool {
	if c.Instance == 0 {
		return true
	}
	stop, first := h.first(s.stopped(c.Instance-1)), c.Rules[0]
	switch {
	case first.Misfortune == bounds.Hang:
		return stop != nil && h.verdictOf(stop) != nil && h.verdictOf(stop).Probe == trace.Liveness
	case first.Exit != 0 && first.Clock == 0: // it crashes
		return stop == nil
	}
	return true
}

// lastChance returns the time of the last request of a probe run that the program could have answered in time, if it refuses all.
func (s *Subject) lastChance(h history, run *trace.Record, c *Case) virtual.Time {
	last := request(run)
	if s.probe(run.Probe).GRPC == nil {
		return last
	}
	answer := s.answer(c, run.Probe)
	for i := range h[:run.Step] {
		r := &h[i]
		if r.Kind == trace.Behavior && r.Container == s.Container && r.Probe == run.Probe && r.T > last && r.T.Add(answer) <= run.T {
			last = r.T
		}
	}
	return last
}

// after measures the time from a misfortune until an outcome.
func (s *Subject) after(c *Case, outcome func(*trace.Record) bool) (Measured, error) {
	h, at, err := s.healthy(c, outcome, 0)
	if err != nil {
		return Measured{}, err
	}
	return Measured{h[at].T.Offset() - c.Event, h[at].T.Offset()}, nil
}

// lasting measures how long a misfortune may last without an outcome. If a probe stops the container, the request that led to the stop decides too. A container
// that exits is not ready, and the probes that fail because of the exit are not those that decide.
func (s *Subject) lasting(c *Case, m bounds.Misfortune, outcome func(*trace.Record) bool) (Measured, error) {
	wait := 5 * time.Second // a run of the liveness probe can begin before the outcome and lead to the stop later
	for _, p := range s.probes() {
		wait += s.timeout(p)
	}
	if hook := podutil.Find(s.Pod, s.Container).Lifecycle; hook != nil && hook.PreStop != nil { // it delays the stop signal
		wait += time.Duration(*s.Pod.Spec.TerminationGracePeriodSeconds) * time.Second
	}
	h, at, err := s.healthy(c, outcome, wait)
	if err != nil {
		return Measured{}, err
	}
	limit, ok := s.limit(h, &h[at], c, m)
	if stop := h.first(s.stops); stop != nil {
		own, known := s.limit(h, stop, c, m)
		switch verdict := h.verdictOf(&h[at]); {
		case !known:
		case !ok, m == bounds.Stall && verdict != nil && verdict.Took < s.hangs(verdict.Probe): // the request would have been answered
			limit = own
		default:
			limit = min(limit, own)
		}
	} else if !ok {
		return Measured{}, errNothing
	}
	return Measured{limit, h[at].T.Offset()}, nil
}

// hangs is the least time of a probe run that gets no answer.
func (s *Subject) hangs(p trace.Probe) time.Duration {
	if h := s.probe(p).HTTPGet; h != nil && h.Scheme == "HTTPS" {
		return min(s.timeout(p), 10*time.Second)
	}
	return s.timeout(p)
}

// limit returns how long the misfortune may last without a record that a probe caused.
func (s *Subject) limit(h history, r *trace.Record, c *Case, m bounds.Misfortune) (time.Duration, bool) {
	verdict := h.verdictOf(r)
	switch {
	case verdict == nil:
		return 0, false
	case m != bounds.Stall:
		return s.lastChance(h, verdict, c).Offset() - c.Event, true
	}
	return verdict.T.Offset() - c.Event - s.answer(c, verdict.Probe), true
}

// healthy runs a case with a misfortune of a healthy container until its outcome, and for some time longer or up to the stop. It returns the index of the outcome.
func (s *Subject) healthy(c *Case, outcome func(*trace.Record) bool, longer time.Duration) (history, int, error) {
	ready, stopped, at := s.probe(trace.Readiness) == nil && s.probe(trace.Startup) == nil, false, int64(0)
	var end virtual.Time
	h, err := s.run(c, c.Event+s.longestRun(), func(r *trace.Record) bool {
		if r.T < virtual.At(c.Event) {
			switch {
			case s.isReady(r):
				ready = true
			case s.isUnready(r):
				ready = false
			}
			return s.stops(r)
		}
		stopped = stopped || s.stops(r)
		if at == 0 && outcome(r) {
			at, end = r.Step, r.T.Add(longer)
		}
		return !ready || at > 0 && (longer == 0 || stopped || r.T > end)
	})
	if err != nil || at == 0 || !ready {
		return nil, 0, errNothing
	}
	return h, int(at - 1), nil
}

// recovered measures the time from a hang until the next instance is up and ready.
func (s *Subject) recovered(c *Case, start time.Duration) (Measured, error) {
	healthy := false
	var up, readySince virtual.Time // zero: not yet
	h, err := s.run(c, c.Event+s.longestRun(), func(r *trace.Record) bool {
		switch {
		case s.isReady(r) && r.T < virtual.At(c.Event):
			healthy = true
		case s.started(1)(r):
			up = r.T.Add(start)
		case up > 0 && s.isReady(r) && s.restarted(r): // not the instance before, for a moment
			readySince = r.T
		case up > 0 && s.isUnready(r):
			readySince = 0
		}
		return readySince > 0 && r.T >= up || s.stopped(1)(r)
	})
	if err != nil || !healthy || s.stopped(1)(h.outcome()) {
		return Measured{}, errNothing
	}
	at := max(up, readySince).Offset()
	return Measured{at - c.Event, at}, nil
}

// untilReady measures the time until ready of a program that comes up at the event of a case, or when the container starts.
func (s *Subject) untilReady(c *Case) (Measured, error) {
	h, err := s.run(c, c.Event+s.startsWithin()+2*s.settles()+time.Hour, func(r *trace.Record) bool { return s.isReady(r) || s.stops(r) })
	if err != nil || !s.isReady(h.outcome()) {
		return Measured{}, errNothing
	}
	up := max(virtual.At(c.Event), h.first(s.started(0)).T)
	return Measured{h.outcome().T.Sub(up), h.outcome().T.Offset()}, nil
}
