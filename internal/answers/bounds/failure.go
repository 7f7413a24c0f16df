package bounds

import (
	"time"

	"probesim.dev/trace"
)

// Survives returns how long a healthy container may have the misfortune without a liveness probe
// that stops it, whatever the phase of the misfortune against the probe: from (failureThreshold -
// 1) x periodSeconds, if it begins just before a run, to a period more. It is Never without a
// liveness probe that the misfortune makes fail.
func (c *Container) Survives(m Misfortune) Range {
	if !c.liveness.fails(m) || c.liveness.tooSlow() {
		return never
	}
	return c.liveness.lasts(m)
}

// StaysReady returns how long a healthy container may have the misfortune without a readiness probe
// that takes its readiness away, or a liveness probe that stops it. The probe that is first
// decides. The phase of the one against the other is not taken into account.
func (c *Container) StaysReady(m Misfortune) Range {
	lasts := never
	for _, p := range []*probe{c.liveness, c.readiness} {
		if !p.fails(m) || p == c.liveness && p.tooSlow() {
			continue
		}
		own := p.lasts(m)
		lasts = Range{min(lasts.Least, own.Least), min(lasts.Greatest, own.Greatest)}
	}
	if c.scoped() && !c.readiness.fails(m) { // the next instance can be ready before a status shows the end of this one
		lasts.Greatest = Never
	}
	return lasts
}

// UntilStopped returns the time from the misfortune until the container gets the stop signal: the
// failures of the liveness probe, and the stop with the preStop hook. The sync that stops the
// container can wait for a relist.
func (c *Container) UntilStopped(m Misfortune) Time {
	if !c.liveness.fails(m) || c.liveness.tooSlow() {
		return Time{Range: never}
	}
	stop := c.preStop(c.spec).plus(c.node[stopContainer])
	mean := c.AtMiddle()
	return Time{
		c.liveness.failure(m).plus(stop, Range{0, c.node.longestWait()}),
		mean.liveness.failureAt(0.5, m) + mean.preStop(c.spec).Least + mean.node[stopContainer].Least,
	}
}

// UntilStopBegins is the least time from the misfortune until the kubelet begins to stop the
// container, with its preStop hook.
func (c *Container) UntilStopBegins(m Misfortune) time.Duration {
	if !c.liveness.fails(m) || c.liveness.tooSlow() {
		return Never
	}
	return later(c.liveness.failure(m).Least, c.node[stopContainer].Least)
}

// RunsApart returns how long after each other the runs of a probe begin while the program hangs. It
// is longer than the period if the runs last longer.
func (c *Container) RunsApart(of trace.Probe) time.Duration {
	p := c.newProbe(c.Probe(of))
	return max(p.period, p.tookDuring(Hang).Greatest)
}

// Tolerates returns how long each answer to a probe may take without a failure: the timeout,
// whatever the thresholds are. It is Never for a TCP probe, since the kernel of the node accepts
// its connection, and without the probe.
func (c *Container) Tolerates(of trace.Probe) Range {
	p := c.newProbe(c.Probe(of))
	if !p.fails(Slow) {
		return never
	}
	return exactly(p.timeout)
}
