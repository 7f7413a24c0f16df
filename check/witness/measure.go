package witness

import (
	"slices"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The value of a limit is read from a run in which the misfortune lasts for ever: the request of the run that reaches the threshold decides, and a misfortune
// that ends before it changes nothing up to then.

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

// Stopped reports whether the first instance gets the stop signal, and Ready and Unready whether a status in the API says that the container is or is not ready.
func (s *Subject) Stopped(r *trace.Record) bool { return s.of(trace.ContainerStopping, 0)(r) }
func (s *Subject) Ready(r *trace.Record) bool   { return s.patched(r, true) }
func (s *Subject) Unready(r *trace.Record) bool { return s.patched(r, false) }

func (s *Subject) patched(r *trace.Record, ready bool) bool {
	return r.Kind == trace.StatusPatched && r.Status != nil && slices.ContainsFunc(r.Status.Containers, func(c trace.ContainerStatus) bool {
		return c.Name == s.Container && c.Ready == ready
	})
}

// start measures how long an instance may take to start.
func (s *Subject) start(c *Case, which bounds.StartCase) (Measured, error) {
	records, err := s.Run(c, s.longestRun(), s.of(trace.ContainerStopping, c.Instance))
	if err != nil {
		return Measured{}, err
	}
	h, outcome := history(records), &records[len(records)-1]
	verdict, started := h.verdictOf(outcome), h.first(s.of(trace.ContainerStarted, c.Instance))
	stop := h.first(s.of(trace.ContainerStopping, c.Instance-1)) // of the instance before, which must end as the case says
	switch killer := h.verdictOf(stop); {
	case verdict == nil || started == nil:
		return Measured{}, errNothing
	case which == bounds.AfterLivenessKill && (killer == nil || killer.Probe != trace.Liveness):
		return Measured{}, errNothing
	case (which == bounds.AfterCrash || which == bounds.AfterCrashWhileStarting) && stop != nil:
		return Measured{}, errNothing
	case verdict.Probe == trace.Startup && h.first(s.failsLiveness(c.Instance)) != nil: // a success of the startup probe would stop it
		return Measured{}, errNothing
	}
	return Measured{s.lastChance(h, verdict, c).Sub(started.T), outcome.T.Offset()}, nil
}

// failsLiveness matches failures of the liveness probe of an instance of a sidecar. They stop it only after its startup probe has succeeded (computeInitContainerActions in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (s *Subject) failsLiveness(instance int) func(*trace.Record) bool {
	sidecar := podutil.IsRestartableInitContainer(podutil.Find(s.Pod, s.Container))
	return func(r *trace.Record) bool {
		return sidecar && s.of(trace.ProbeExecuted, instance)(r) && r.Probe == trace.Liveness && r.Result == trace.Failure
	}
}

// lastChance returns the time of the last request of a probe run that the program could have answered in time, if it refuses all.
func (s *Subject) lastChance(h history, run *trace.Record, c *Case) virtual.Time {
	last := run.T.Add(-run.Took)
	if s.Bounds.Probe(run.Probe).GRPC == nil {
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

// answer returns the latency of the answers to a probe on the node of a case.
func (s *Subject) answer(c *Case, p trace.Probe) time.Duration {
	usual := fakeruntime.DefaultDelays()
	own, other := c.Delays.HTTPGet, usual.HTTPGet
	switch probe := s.Bounds.Probe(p); {
	case probe.Exec != nil:
		own, other = c.Delays.Exec, usual.Exec
	case probe.TCPSocket != nil:
		own, other = c.Delays.TCPSocket, usual.TCPSocket
	case probe.GRPC != nil:
		own, other = c.Delays.GRPC, usual.GRPC
	}
	if own == nil {
		own = other
	}
	return own.Min + (own.Max-own.Min)/2
}

// after measures the time from a misfortune until an outcome.
func (s *Subject) after(c *Case, o outcome) (Measured, error) {
	h, at, err := s.healthy(c, o, 0)
	if err != nil {
		return Measured{}, err
	}
	return Measured{h[at].T.Offset() - c.Event, h[at].T.Offset()}, nil
}

// lasting measures how long a misfortune may last without an outcome. If a probe stops the container, the request that led to the stop decides too. A container
// that exits is not ready, and the probes that fail because of the exit are not those that decide.
func (s *Subject) lasting(c *Case, m bounds.Misfortune, o outcome) (Measured, error) {
	wait := 5 * time.Second // a run of the liveness probe can begin before the outcome and lead to the stop later
	for _, p := range s.probes() {
		wait += s.timeout(p)
	}
	if hook := podutil.Find(s.Pod, s.Container).Lifecycle; hook != nil && hook.PreStop != nil { // it delays the stop signal
		wait += time.Duration(*s.Pod.Spec.TerminationGracePeriodSeconds) * time.Second
	}
	h, at, err := s.healthy(c, o, wait)
	if err != nil {
		return Measured{}, err
	}
	limit := func(verdict *trace.Record) time.Duration {
		switch {
		case verdict == nil:
			return bounds.Never
		case m == bounds.Stall: // the answer comes after the stall
			return verdict.T.Offset() - c.Event - s.answer(c, verdict.Probe)
		}
		return s.lastChance(h, verdict, c).Offset() - c.Event
	}
	verdict, killer := h.verdictOf(&h[at]), h.verdictOf(h.first(s.Stopped))
	value := min(limit(verdict), limit(killer))
	if m == bounds.Stall && verdict != nil && killer != nil && verdict.Took < s.hangs(verdict.Probe) { // the request would have been answered
		value = limit(killer)
	}
	if value == bounds.Never {
		return Measured{}, errNothing
	}
	return Measured{value, h[at].T.Offset()}, nil
}

// hangs is the least time of a probe run that gets no answer.
func (s *Subject) hangs(p trace.Probe) time.Duration {
	if h := s.Bounds.Probe(p).HTTPGet; h != nil && h.Scheme == "HTTPS" { // the TLS handshake has its own limit
		return min(s.timeout(p), 10*time.Second)
	}
	return s.timeout(p)
}

// healthy runs a case with a misfortune of a healthy container until its outcome, and for some time longer or up to the stop. It returns the index of the outcome.
func (s *Subject) healthy(c *Case, o outcome, longer time.Duration) (history, int, error) {
	ready, stopped, at := s.Bounds.Probe(trace.Readiness) == nil && s.Bounds.Probe(trace.Startup) == nil, false, int64(0)
	var end virtual.Time
	h, err := s.Run(c, c.Event+s.longestRun(), func(r *trace.Record) bool {
		if r.T < virtual.At(c.Event) {
			ready = (ready || s.Ready(r)) && !s.Unready(r)
			return s.Stopped(r)
		}
		stopped = stopped || s.Stopped(r)
		if at == 0 && o.is(s, r) {
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

// untilReady measures the time until ready of a program that comes up at the event of a case, or when the container starts. A program that comes up later fails the
// first run of the probe that waits for it.
func (s *Subject) untilReady(c *Case) (Measured, error) {
	h, err := s.Run(c, c.Event+s.startsWithin()+2*s.settles()+time.Hour, func(r *trace.Record) bool { return s.Ready(r) || s.Stopped(r) })
	switch {
	case err != nil:
		return Measured{}, err
	case !s.Ready(&h[len(h)-1]):
		return Measured{}, errNothing
	}
	waits := s.probes()[0] // the startup probe, if there is one
	if waits == trace.Liveness {
		waits = trace.Readiness
	}
	looks := history(h).first(func(r *trace.Record) bool {
		return r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == waits
	})
	if c.Event > 0 && (looks == nil || looks.Result == trace.Success) {
		return Measured{}, errNothing
	}
	at := h[len(h)-1].T
	return Measured{at.Sub(max(virtual.At(c.Event), history(h).first(s.of(trace.ContainerStarted, 0)).T)), at.Offset()}, nil
}
