package bounds

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// question is a question about a misfortune that begins at some time in a healthy container.
type question struct {
	asked
	misfortune Misfortune
	probe      trace.Probe                                                   // the probe that decides
	outcome    func(*trace.Record) bool                                      // reports the outcome
	read       func(h history, outcome *trace.Record, c *Case) time.Duration // reads the answer from the run
	delays     []delay                                                       // that change the answer
	also       trace.Kind                                                    // an internal kind of record that read needs; empty: none
	goal       *goal                                                         // nil: none
}

// Survives returns how long a healthy container may have the misfortune without a liveness probe that stops it, whatever the
// phase of the misfortune against the probe. Both ends are derived for a gRPC probe that connects more than once.
func (s *Subject) Survives(n Nodes, m Misfortune) (Bound, error) {
	q := s.survives(m)
	if !n.Middle && s.reconnectsDuring(trace.Liveness, m) {
		least, greatest := s.lastsWithout(n, m, trace.Liveness)
		q.goal = s.derived(least, greatest, tolerance)
	}
	return s.ask(n, q)
}

func (s *Subject) survives(m Misfortune) question {
	a := asked{limit: true, expect: s.stopping(0), happens: "the container is stopped"}
	return question{a, m, trace.Liveness, s.stopped(0), s.lasting(m), nil, "", nil}
}

// StaysReady returns how long a healthy container may have the misfortune without a readiness probe that takes its readiness
// away. Both ends are derived if its liveness probe can stop the container first, and for a gRPC probe that connects more than once.
func (s *Subject) StaysReady(n Nodes, m Misfortune) (Bound, error) {
	q := s.staysReady(m)
	if !n.Middle && (s.derivesStaysReady(n, m) || s.reconnectsDuring(trace.Readiness, m)) {
		least, greatest := s.lastsAtMost(n, m)
		q.goal = s.derived(least, greatest, tolerance)
	}
	return s.ask(n, q)
}

func (s *Subject) staysReady(m Misfortune) question {
	a := asked{limit: true, expect: s.becomesReady(false), happens: "the container becomes not ready"}
	var delays []delay
	if other := s.rival(trace.Readiness, m); other != nil {
		delays = append(delays, answerDelay(s.Probe(other.probe)))
	}
	return question{a, m, trace.Readiness, s.unready, s.lasting(m), delays, "", nil}
}

// UntilStopped returns the time from the misfortune until the container gets the stop signal. Its greatest value is derived: the greatest
// time if the kubelet acts at once, and the longest wait until it acts. So is its least value if the kubelet waits in each run that the search
// finds, because the readiness probe has failed just before.
func (s *Subject) UntilStopped(n Nodes, m Misfortune) (Bound, error) {
	b, err := s.ask(n, s.untilStopped(m))
	if err != nil || b.Least == Never {
		return b, err
	}
	q := s.untilStopped(m)
	q.read, q.also = untilStoppedAtOnce, trace.PodSync
	atOnce, err := s.ask(n, q)
	if err != nil {
		return b, err
	}
	b, err = s.aim(b, n, s.period(trace.Liveness))
	return b.derive(atOnce.Least, atOnce.Greatest+n.longestWait()), err
}

// untilStoppedAtOnce is the time until the outcome without the wait from the verdict to the sync that stops the container.
func untilStoppedAtOnce(h history, outcome *trace.Record, c *Case) time.Duration {
	verdict, err := h.verdictOf(outcome)
	sync := h[:outcome.Step].last(trace.PodSync)
	if err != nil || sync == nil {
		return untilOutcome(h, outcome, c)
	}
	return untilOutcome(h, outcome, c) - sync.T.Sub(verdict.T)
}

// longestWait is the longest time from a verdict to the sync that stops the container. The sync waits for a relist that has begun after the
// sync before it. So the longest wait is that after a sync which ends just after a relist begins: until the end of the next relist, which
// begins 1 s after the end of that one. If the sync loop takes the results of two probes later, since it lists what runs for its housekeeping, the
// result of the other probe can lead to the sync before (podWorkerLoop in pkg/kubelet/pod_workers.go and syncLoopIteration in pkg/kubelet/kubelet.go
// at v1.37.0).
func (n Nodes) longestWait() time.Duration {
	return time.Second + 3*n.lists()
}

// UntilUnready returns the time from the misfortune until the status in the API says that the container is not ready. Both ends are derived
// if healthy answers come in time.
func (s *Subject) UntilUnready(n Nodes, m Misfortune) (Bound, error) {
	q := s.untilUnready(m)
	if !n.Middle && s.derivesUnready(n, m) {
		least, greatest := s.unreadyLimits(n, m)
		q.goal = s.derived(least, greatest, timeTolerance)
	}
	b, err := s.ask(n, q)
	if err != nil || q.goal == nil || b.Least == Never || !s.fails(trace.Liveness, m) {
		return b, err
	}
	return s.aroundRestart(b, n, n.dims(distinct(q.delays)...), q.goal)
}

func (s *Subject) untilStopped(m Misfortune) question {
	a := asked{expect: s.stopping(0), happens: "the container is stopped"}
	delays := distinct(append(preStopDelays(s.container()), stopContainer))
	return question{a, m, trace.Liveness, s.stopped(0), untilOutcome, delays, "", nil}
}

func (s *Subject) untilUnready(m Misfortune) question {
	a := asked{expect: s.becomesReady(false), happens: "the container becomes not ready"}
	delays := []delay{apiGet, apiPatch, listPodSandbox, listContainers} // for its housekeeping, the kubelet lists what runs
	if other := s.rival(trace.Readiness, m); other != nil {             // after a kill, the kubelet looks at the runtime, and may start the container, before it writes the status
		c := s.container()
		delays = append(append(delays, stopContainer, stopReturn, imageStatus, answerDelay(s.Probe(other.probe)), podSandboxStatus, containerStatus), s.starts()...)
		delays = append(append(delays, preStopDelays(c)...), postStartDelays(c)...)
	}
	return question{a, m, trace.Readiness, s.unready, untilOutcome, delays, "", nil}
}

// stopping and becomesReady match outcomes in scenario files.
func (s *Subject) stopping(instance int) string {
	return fmt.Sprintf("container: %s, instance: %d, record: {kind: ContainerStopping}", s.Container, instance)
}

func (s *Subject) becomesReady(ready bool) string {
	return fmt.Sprintf("container: %s, becomes: {ready: %v}", s.Container, ready)
}

func untilOutcome(_ history, outcome *trace.Record, c *Case) time.Duration {
	return outcome.T.Sub(virtual.At(c.Event))
}

// lasting reads how long the misfortune may last. The request that reached the threshold decides: it is still good if the
// misfortune has ended when it arrives; or, after a stall, if its answer comes before its timeout.
//
// If a probe stops the container, the request that led to the stop decides too. A container that exits is not ready, and the probes that
// fail because of the exit are not those that decide.
func (s *Subject) lasting(m Misfortune) func(history, *trace.Record, *Case) time.Duration {
	return func(h history, outcome *trace.Record, c *Case) time.Duration {
		limit, err := s.limit(h, outcome, m, c)
		if err != nil {
			return 0
		}
		if stop := h.first(s.stopped(0)); stop != nil {
			own, err := s.limit(h, stop, m, c)
			switch {
			case err != nil:
			case m == Stall && s.endsAtExit(h, outcome): // the request would have been answered
				limit = own
			default:
				limit = min(limit, own)
			}
		}
		return limit
	}
}

// endsAtExit reports whether the probe run that caused a record failed because of the exit of the container.
func (s *Subject) endsAtExit(h history, outcome *trace.Record) bool {
	verdict, err := h.verdictOf(outcome)
	return err == nil && verdict.Took < s.tookDuring(Nodes{}, Stall, verdict.Probe).Min
}

// limit returns how long the misfortune may last without a record that a probe caused.
func (s *Subject) limit(h history, r *trace.Record, m Misfortune, c *Case) (time.Duration, error) {
	verdict, err := h.verdictOf(r)
	switch {
	case err != nil:
		return 0, err
	case m != Stall:
		return s.lastChance(h, verdict, c).Sub(virtual.At(c.Event)), nil
	}
	return verdict.T.Sub(virtual.At(c.Event)) - s.latency(h, verdict, c), nil
}

// latency returns how long a healthy answer to the same probe takes.
func (s *Subject) latency(h history, verdict *trace.Record, c *Case) time.Duration {
	healthy := h.first(func(r *trace.Record) bool {
		return r.Kind == trace.ProbeExecuted && r.Container == verdict.Container && r.Probe == verdict.Probe && r.Result == trace.Success
	})
	if healthy == nil { // the misfortune is older than the first run
		return c.value(answerDelay(s.Probe(verdict.Probe)))
	}
	return healthy.Took
}

// ask answers a question over all nodes and all phases of the misfortune. The phase of the kubelet's relists has no effect on a
// container that runs.
func (s *Subject) ask(n Nodes, q question) (Bound, error) {
	if s.Probe(q.probe) == nil {
		return Bound{}, fmt.Errorf("container %s has no %s probe", s.Container, q.probe)
	}
	c := s.center(n)
	c.question = &q.asked
	c.question.measure = func(s *Subject, c Case) (sample, error) { return s.answer(c, q) }
	delays := append([]delay{answerDelay(s.Probe(q.probe))}, q.delays...)
	dims := n.dims(distinct(delays)...)
	if other := s.rival(q.probe, q.misfortune); other != nil {
		dims = append(dims, n.rivalry(s, &c, other, q.limit))
	}
	f := func(c Case) (sample, error) { return s.phases(c, q) }
	return extremes(c, n.only(dims), q.goal, func(c Case) (sample, error) {
		all, err := f(c)
		if err == nil && !q.limit {
			all.bound, err = s.atHousekeeping(n, all.bound.toward(q.goal), f)
		}
		return all, err
	})
}

// rivalry returns the dimension of the phases of two probes against each other. The sync that shows the start, or that follows the success of
// the startup probe, triggers the readiness probe, whose period then begins again. The ticks of the liveness probe stay where they are. So the
// start and the relists move against these. For a time, the phase of the relists also matters after a kill, so the start moves alone.
func (n Nodes) rivalry(s *Subject, c *Case, other *rival, limit bool) dim {
	switch {
	case s.init() != "":
		return n.begins(s, c, false).phases(other.common)
	case limit:
		begin := n.total(other.common, s.firstStart()...)
		return begin.aligned(c.Uptime).phases(other.common)
	}
	return n.total(other.common, runPodSandbox).phases(other.common)
}

// phases answers a question over all phases of the misfortune.
func (s *Subject) phases(c Case, q question) (sample, error) {
	moments, err := s.requests(c, q.probe, s.rival(q.probe, q.misfortune))
	if errors.Is(err, errNothing) {
		return sample{bound: at(Never, c)}, nil
	}
	if err != nil {
		return sample{}, err
	}
	return between(moments, c, func(c Case) (sample, error) { return s.answer(c, q) })
}

// answer answers a question for a misfortune that begins at the event of the case and lasts for ever.
func (s *Subject) answer(c Case, q question) (sample, error) {
	c.Rules = []Rule{{Instance: AnyInstance, Clock: fakeruntime.AtScenario, From: c.Event, Misfortune: q.misfortune}}
	t0 := virtual.At(c.Event)
	happens := func(r *trace.Record) bool { return r.T >= t0 && q.outcome(r) }
	over := happens
	if other := s.rival(q.probe, q.misfortune); other != nil && q.limit { // its last run can begin before the outcome and end after it
		var until virtual.Time
		stopped := false
		over = func(r *trace.Record) bool {
			stopped = stopped || s.stopped(0)(r)
			if until == 0 && happens(r) {
				until = r.T.Add(s.timeout(other.probe) + s.untilSignal(&c))
			}
			return until > 0 && (r.T > until || stopped)
		}
	}
	also := q.also
	if q.misfortune != Stall && also == "" {
		also = s.showsConnections()
	}
	h, err := s.record(&c, s.recorder(also), s.longestRun(), over)
	if errors.Is(err, errNothing) {
		return sample{bound: at(Never, c)}, nil
	}
	if err != nil {
		return sample{}, err
	}
	outcome := h.first(happens)
	return sample{bound: at(q.read(h, outcome, &c), c), outcome: outcome.T.Offset()}, nil
}

// untilSignal returns the longest time from a verdict of the liveness probe to the stop signal: a sync can wait for a relist, and runs the preStop hook.
func (s *Subject) untilSignal(c *Case) time.Duration {
	waits := 2*c.relistPeriod() + c.value(stopContainer)
	if h := s.container().Lifecycle; h != nil && h.PreStop != nil {
		waits += s.shutdown(horizon)
	}
	return waits
}

// rival is a probe that can decide a question about another probe, since a liveness probe that stops the container also ends its
// readiness.
type rival struct {
	probe  trace.Probe
	window time.Duration // the time in which the two probes have each of their phases against each other
	common time.Duration // after which a shift of one against the other repeats these phases
}

// rival returns the rival of a probe, or nil.
func (s *Subject) rival(p trace.Probe, m Misfortune) *rival {
	readiness, liveness := s.Probe(trace.Readiness), s.Probe(trace.Liveness)
	if p != trace.Readiness || liveness == nil {
		return nil
	}
	slowest := int64(readiness.FailureThreshold)*int64(max(readiness.PeriodSeconds, readiness.TimeoutSeconds)) + int64(readiness.TimeoutSeconds)
	fails := m != Stall || readiness.TCPSocket == nil
	if fails && int64(liveness.FailureThreshold-1)*int64(liveness.PeriodSeconds) > slowest {
		return nil // the readiness probe is faster
	}
	common := divisor(liveness.PeriodSeconds, readiness.PeriodSeconds)
	window := min(int64(liveness.PeriodSeconds/common)*int64(readiness.PeriodSeconds), maxWindow)
	return &rival{trace.Liveness, time.Duration(window) * time.Second, time.Duration(common) * time.Second}
}

// maxWindow limits the seconds in which the phases of two probes are tried.
const maxWindow = 100

// cycles is the number of periods of the deciding probe in which a misfortune begins.
const cycles = 1

// requests returns the times at which a probe of the healthy container runs, over some cycles after the container has become
// ready. If another probe can decide too, they are the times of both, after all initialDelaySeconds and the first run of each.
func (s *Subject) requests(c Case, p trace.Probe, other *rival) ([]time.Duration, error) {
	c.Rules = nil // the case can be that of another answer, with its misfortune
	ready, runs, has := false, 0, map[trace.Probe]bool{}
	var passed, from, to, until virtual.Time
	var all []time.Duration
	err := s.watch(&c, s.healthyWithin(), func(r *trace.Record) bool {
		if s.started(0)(r) {
			passed = r.T.Add(s.initialDelays())
		}
		ready = ready || s.ready(r)
		if !ready || r.Kind != trace.ProbeExecuted || r.Container != s.Container || r.Probe != p && (other == nil || r.Probe != other.probe) {
			return until > 0 && r.T >= until
		}
		at := request(r)
		all = append(all, at.Offset())
		switch {
		case until > 0:
		case other != nil:
			if r.T >= passed && has[p] && has[other.probe] {
				from, to = at, at.Add(other.window)
				until = to.Add(longestAnswer) // a run that is still going on has begun before the end
			}
			has[r.Probe] = true
		case runs == 1:
			from = at
		case runs == cycles+1:
			to, until = at, r.T
		}
		runs++
		return until > 0 && r.T >= until
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(t time.Duration) bool { return t < from.Offset() || t > to.Offset() }), nil
}

// longestAnswer is how long a healthy program takes to answer a probe at most.
const longestAnswer = time.Second

// healthyWithin is the virtual time within which a healthy container becomes ready, if its probes can succeed, and runs some periods of its probes.
func (s *Subject) healthyWithin() time.Duration {
	_, longest := s.periods()
	return time.Hour + s.initialDelays() + (cycles+4)*longest
}
