package witness

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/podutil"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The value of a limit is read from a run in which the misfortune lasts for ever: the request of
// the run that reaches the threshold decides, and a misfortune that ends before it changes nothing
// up to then.

// Measured is what the run of a case shows.
type Measured struct {
	Value   time.Duration
	Outcome time.Duration // the virtual time of the outcome
}

// history is the beginning of a trace.
type history []trace.Record

// first returns the first record that matches, or nil.
func (h history) first(match func(*trace.Record) bool) *trace.Record {
	for i := range h {
		if match(&h[i]) {
			return &h[i]
		}
	}
	return nil
}

// verdictOf returns the probe run that caused a record, or nil.
func (h history) verdictOf(r *trace.Record) *trace.Record {
	for r != nil && r.Cause > 0 {
		if r = &h[r.Cause-1]; r.Kind == trace.ProbeExecuted {
			return r
		}
	}
	return nil
}

// of matches the records of one kind about an instance of the container.
func (s *Subject) of(kind trace.Kind, instance int) func(*trace.Record) bool {
	return func(r *trace.Record) bool {
		return r.Kind == kind && r.Container == s.Container && r.Instance == instance
	}
}

// start measures how long an instance may take to start.
func (s *Subject) start(c *Case, which bounds.StartCase, until time.Duration) (Measured, error) {
	h, err := s.Run(c, until, s.of(trace.ContainerStopping, c.Instance))
	if err != nil {
		return Measured{}, err
	}
	outcome := &h[len(h)-1]
	verdict, started := h.verdictOf(outcome), h.first(s.of(trace.ContainerStarted, c.Instance))
	// of the instance before, which must end as the case says
	stop := h.first(s.of(trace.ContainerStopping, c.Instance-1))
	switch killer := h.verdictOf(stop); {
	case verdict == nil || started == nil:
		return Measured{}, errNothing
	case which == bounds.AfterLivenessKill && (killer == nil || killer.Probe != trace.Liveness):
		return Measured{}, errNothing
	case (which == bounds.AfterCrash || which == bounds.AfterCrashWhileStarting) && stop != nil:
		return Measured{}, errNothing
	// a success of the startup probe would stop it
	case verdict.Probe == trace.Startup && h.first(s.failsLiveness(c.Instance)) != nil:
		return Measured{}, errNothing
	}
	return Measured{s.lastChance(h, verdict, c).Sub(started.T), outcome.T.Offset()}, nil
}

// failsLiveness matches failures of the liveness probe of an instance of a sidecar. They stop it
// only after its startup probe has succeeded (computeInitContainerActions in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (s *Subject) failsLiveness(instance int) func(*trace.Record) bool {
	sidecar := podutil.IsRestartableInitContainer(podutil.Find(s.Pod, s.Container))
	return func(r *trace.Record) bool {
		return sidecar && s.of(trace.ProbeExecuted, instance)(r) && r.Probe == trace.Liveness &&
			r.Result == trace.Failure
	}
}

// lastChance returns the time of the last request of a probe run that the program could have
// answered in time, if it refuses all.
func (s *Subject) lastChance(h history, run *trace.Record, c *Case) virtual.Time {
	last := run.T.Add(-run.Took)
	if s.Bounds.Probe(run.Probe).GRPC == nil {
		return last
	}
	answer := s.answer(c, run.Probe)
	for i := range h[:run.Step] {
		r := &h[i]
		if r.Kind == trace.Behavior && r.Container == s.Container && r.Probe == run.Probe && r.T > last &&
			r.T.Add(answer) <= run.T {
			last = r.T
		}
	}
	return last
}

// answer returns the latency of the answers to a probe on the node of a case.
func (s *Subject) answer(c *Case, p trace.Probe) time.Duration {
	all := c.Delays.Over(fakeruntime.DefaultDelays())
	d := all.HTTPGet
	switch probe := s.Bounds.Probe(p); {
	case probe.Exec != nil:
		d = all.Exec
	case probe.TCPSocket != nil:
		d = all.TCPSocket
	case probe.GRPC != nil:
		d = all.GRPC
	}
	return d.Min + (d.Max-d.Min)/2
}

// event measures the time from a misfortune until its outcome, or of a limit, how long it may last
// without an outcome. If a probe stops the container, the request that led to the stop decides too.
// A container that exits is not ready, and the probes that fail because of the exit are not those
// that decide.
func (s *Subject) event(c *Case, f *Figure, until time.Duration) (Measured, error) {
	wait := time.Duration(0)
	if f.Limit { // a run of the liveness probe can begin before the outcome and lead to the stop later, after a hook
		wait = s.settles() + time.Duration(*s.Pod.Spec.TerminationGracePeriodSeconds)*time.Second
	}
	h, at, err := s.healthy(c, until, f.Outcome, wait)
	if err != nil {
		return Measured{}, err
	}
	outcome := h[at].T.Offset()
	if !f.Limit {
		return Measured{outcome - c.Event, outcome}, nil
	}
	limit := func(verdict *trace.Record) time.Duration {
		switch {
		case verdict == nil:
			return bounds.Never
		case f.Misfortune == bounds.Stall: // the answer comes after the stall
			return verdict.T.Offset() - c.Event - s.answer(c, verdict.Probe)
		}
		return s.lastChance(h, verdict, c).Offset() - c.Event
	}
	verdict, killer := h.verdictOf(&h[at]), h.verdictOf(h.first(s.of(trace.ContainerStopping, 0)))
	value := min(limit(verdict), limit(killer))
	// the request would have been answered
	if f.Misfortune == bounds.Stall && verdict != nil && killer != nil && verdict.Took < s.hangs(verdict.Probe) {
		value = limit(killer)
	}
	if value == bounds.Never {
		return Measured{}, errNothing
	}
	return Measured{value, outcome}, nil
}

// hangs is the least time of a probe run that gets no answer.
func (s *Subject) hangs(of trace.Probe) time.Duration {
	p := s.Bounds.Probe(of)
	if p.HTTPGet != nil && p.HTTPGet.Scheme == "HTTPS" { // the TLS handshake has its own limit
		return min(seconds(p.TimeoutSeconds), 10*time.Second)
	}
	return seconds(p.TimeoutSeconds)
}

// healthy runs a case with a misfortune of a healthy container until its outcome, and for some time
// longer or up to the stop. It returns the index of the outcome.
func (s *Subject) healthy(c *Case, until time.Duration, o Outcome, longer time.Duration) (history, int, error) {
	ready, stopped, at := s.Bounds.Probe(trace.Readiness) == nil && s.Bounds.Probe(trace.Startup) == nil, false,
		int64(0)
	var end virtual.Time
	h, err := s.Run(c, until, func(r *trace.Record) bool {
		if r.T < virtual.At(c.Event) {
			ready = (ready || Ready.Shows(s, r)) && !Unready.Shows(s, r)
			return Stopped.Shows(s, r)
		}
		stopped = stopped || Stopped.Shows(s, r)
		if at == 0 && o.Shows(s, r) {
			at, end = r.Step, r.T.Add(longer)
		}
		return !ready || at > 0 && (longer == 0 || stopped || r.T > end)
	})
	switch {
	case err != nil:
		return nil, 0, err
	case at == 0 || !ready:
		return nil, 0, errNothing
	}
	return h, int(at - 1), nil
}

// untilReady measures the time until ready of a program that comes up at the event of a case, or
// when the container starts. A program that comes up later fails the first run of the probe that
// waits for it.
func (s *Subject) untilReady(c *Case, until time.Duration) (Measured, error) {
	h, err := s.Run(c, until, func(r *trace.Record) bool { return Ready.Shows(s, r) || Stopped.Shows(s, r) })
	switch {
	case err != nil:
		return Measured{}, err
	case !Ready.Shows(s, &h[len(h)-1]):
		return Measured{}, errNothing
	}
	waits := s.probes()[0] // the startup probe, if there is one
	if waits == trace.Liveness {
		waits = trace.Readiness
	}
	looks := h.first(func(r *trace.Record) bool {
		return r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == waits
	})
	if c.Event > 0 && (looks == nil || looks.Result == trace.Success) {
		return Measured{}, errNothing
	}
	at := h[len(h)-1].T
	return Measured{at.Sub(max(virtual.At(c.Event), h.first(s.of(trace.ContainerStarted, 0)).T)), at.Offset()}, nil
}
