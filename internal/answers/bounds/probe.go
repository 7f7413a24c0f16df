package bounds

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/prober"
)

// probe is a probe of the container, with the times that decide when its runs begin and end.
type probe struct {
	*v1.Probe
	delay, period, timeout time.Duration
	failures, successes    time.Duration // its thresholds
	answer                 Range         // of a program that answers at once
	again                  bool          // a run connects again while the program refuses it
}

func (c *Container) newProbe(p *v1.Probe) *probe {
	if p == nil {
		return nil
	}
	seconds := func(s int32) time.Duration { return time.Duration(s) * time.Second }
	return &probe{
		Probe: p, delay: seconds(p.InitialDelaySeconds), period: seconds(p.PeriodSeconds),
		timeout:  seconds(p.TimeoutSeconds),
		failures: time.Duration(p.FailureThreshold), successes: max(1, time.Duration(p.SuccessThreshold)),
		answer: c.node.answers(&p.ProbeHandler),
		again:  p.GRPC != nil && !c.settings.Profile.GRPCConnectsOnce,
	}
}

// delayed returns the time from a start until initialDelaySeconds has passed. It counts from the
// whole second before the start, because the API has the start in whole seconds (doProbe in
// pkg/kubelet/prober/worker.go at v1.37.0).
func (p *probe) delayed() Range {
	if p.delay == 0 {
		return Range{}
	}
	return Range{p.delay - time.Second, p.delay}
}

// stopsWithin is about how long the probe takes to stop the container.
func (p *probe) stopsWithin() time.Duration { return p.delay + p.failures*max(p.period, p.timeout) }

// tooSlow reports whether the probe takes longer than LongestLimit to stop the container. It counts
// as one that never does.
func (p *probe) tooSlow() bool { return p.stopsWithin() > LongestLimit }

// leastTook is a time that a run takes at least while the program refuses it. Up to 1.37 a grpc
// probe connects again until its timeout.
func (p *probe) leastTook() time.Duration {
	if p.reconnects() {
		return p.timeout
	}
	return 0
}

// took is the longest time that a run takes while the program refuses it.
func (p *probe) took() time.Duration { return max(p.answered(), p.leastTook()) }

// answered is the longest time that a run takes which the program answers or refuses at once.
func (p *probe) answered() time.Duration { return min(p.answer.Greatest, p.timeout) }

// step is the time from one run to the next while the program refuses it: a run that takes longer
// than the period is followed by the next one at once (the ticker of run in
// pkg/kubelet/prober/worker.go at v1.37.0 keeps one tick).
func (p *probe) step() Range { return Range{max(p.period, p.leastTook()), max(p.period, p.took())} }

// later returns the time from a run to the one that comes some runs later.
func (p *probe) later(runs time.Duration) Range {
	step := p.step()
	return Range{runs * step.Least, runs * step.Greatest}
}

// failsOften reports whether the probe can fail a number of times within a time because of an exit.
// A command cannot run in a container that has exited, which is no failure, so only the run that is
// going on at the exit fails (Probe in pkg/probe/exec/exec.go at v1.37.0).
func (p *probe) failsOften(times, within time.Duration) bool {
	return times == 1 || p.Exec == nil && (times-1)*p.period <= within
}

// left returns how many periods are left until the threshold after a crash, if the probe fails
// because of the exit for some time. These failures count for the next instance too (resultRun in
// pkg/kubelet/prober/worker.go at v1.37.0).
func (p *probe) left(within time.Duration) time.Duration {
	left := p.failures - 1
	for failed := time.Duration(1); left > 0 && p.failsOften(failed, within); failed++ {
		left--
	}
	return left
}

// fails reports whether a misfortune makes the probe fail. The kernel of the node accepts
// connections for a program that stands still, is slow, or answers with a failure.
func (p *probe) fails(m Misfortune) bool {
	return p != nil && (p.TCPSocket == nil || m == Hang || m == Refuse)
}

// tookDuring returns how long a run takes during a misfortune. Up to 1.37 a grpc probe connects
// again until its timeout (pkg/probe/grpc/grpc.go at v1.37.0 and v1.38.0-beta.0). An https probe
// gives up a TLS handshake after 10 s (the transport of pkg/probe/http/http.go at v1.37.0).
func (p *probe) tookDuring(m Misfortune) Range {
	if m == Fail || m == Refuse && !p.reconnects() {
		return p.answer.most(p.timeout)
	}
	if p.HTTPGet != nil && p.HTTPGet.Scheme == v1.URISchemeHTTPS && m != Slow { // a slow program still shakes hands
		return exactly(min(p.timeout, prober.TLSHandshakeTimeout))
	}
	return exactly(p.timeout)
}

// failure returns the time from a misfortune of a healthy container until the probe has failed as
// often as its threshold says. The misfortune begins just after a run at the latest. Then the first
// run that fails begins a period later.
func (p *probe) failure(m Misfortune) Range {
	took := p.tookDuring(m)
	first, later := max(p.period, p.answered())-1, p.failures-1
	return Range{later*max(p.period, took.Least) + took.Least, first + later*max(p.period, took.Greatest) +
		took.Greatest}
}

// failureAt returns the time from a misfortune that begins at some part of a period, from 0 to 1,
// before the next run, on a node with fixed latencies.
func (p *probe) failureAt(part float64, m Misfortune) time.Duration {
	took := p.tookDuring(m).Least
	return time.Duration(part*float64(p.period)) + (p.failures-1)*max(p.period, took) + took
}

// lasts returns how long a misfortune of a healthy container may last without as many failures of
// the probe as its threshold says. The last run that the threshold needs decides: it still succeeds
// if the misfortune is over when it begins, or when its last connection does. After a stall, the
// program answers it late, so it succeeds if its answer still comes before the timeout.
func (p *probe) lasts(m Misfortune) Range {
	failed, took := p.failure(m), p.tookDuring(m)
	if m == Stall {
		answer := p.answer.most(p.timeout)
		return Range{failed.Least - answer.Greatest, failed.Greatest - answer.Least}
	}
	last := p.lastConnection(m)
	return Range{failed.Least - took.Least + last.Least, failed.Greatest - took.Greatest + last.Greatest}
}

// Up to 1.37 a gRPC probe that the program refuses connects again and again until its timeout
// (pkg/probe/grpc/grpc.go at v1.37.0 and v1.38.0-beta.0). So a program that comes up during the
// last run that the threshold needs is in time if it does so before the last connection of this
// run.

// reconnects reports whether a run that the program refuses lasts until its timeout.
func (p *probe) reconnects() bool { return p != nil && p.again }

// lastConnection returns the time from the begin of a run during a misfortune, which is no stall,
// to the last connection that the program could have answered in time. It is 0 for a run with one
// connection. The client gives up a connection that the program does not answer.
func (p *probe) lastConnection(m Misfortune) (last Range) {
	if !p.reconnects() || m == Slow || m == Fail || m == Hang && p.timeout <= prober.MinConnectTimeout {
		return last
	}
	var at Range   // of a connection
	inTime := true // this connection always is
	for i := 0; ; i++ {
		var backOff Range
		backOff.Least, backOff.Greatest = prober.ConnectBackOff(i)
		ends := p.answer
		if m == Hang {
			ends = Range{max(prober.MinConnectTimeout, backOff.Least), max(prober.MinConnectTimeout, backOff.Greatest)}
		}
		next := at.plus(ends, backOff)
		switch {
		case next.Least+p.answer.Least > p.timeout:
			return last
		case next.Greatest+p.answer.Greatest <= p.timeout:
			last.Least = next.Least
		case inTime: // it is not in time if the one before it is late, or its back-off is long
			late := p.timeout - p.answer.Greatest - ends.Greatest - backOff.Greatest
			last.Least, inTime = min(max(at.Least, late), next.Least), false
		}
		at, last.Greatest = next, min(next.Greatest, p.timeout-p.answer.Least)
	}
}

// lastChance is lastConnection of a program that is not up yet.
func (p *probe) lastChance() Range { return p.lastConnection(Refuse) }
