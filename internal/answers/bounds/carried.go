package bounds

import "time"

// From v1.35 to v1.37, where ChangeContainerStatusOnKubeletRestart is off, the kubelet can carry
// over that a container has started (isContainerStarted in pkg/kubelet/prober/prober_manager.go at
// v1.37.0). The liveness probe then runs although the next instance has not started.

// carriesStart reports whether the kubelet can carry over that the container has started. It does
// so if it stops the instance before and starts the next one in one sync. It also does so after a
// crash, if the liveness probe fails often enough before a relist shows the exit: the sync for the
// last failure then stops the instance.
func (c *Container) carriesStart(which StartCase) bool {
	profile := c.settings.Profile
	if profile.ChangeContainerStatusOnKubeletRestart || profile.StartedOfInstance || c.startup == nil ||
		c.liveness == nil {
		return false
	}
	p := c.liveness
	return which == AfterLivenessKill || which == AfterCrash && p.failsOften(p.failures, c.failsUnseen(p))
}

// livesBelowBackOff reports whether the liveness probe can stop an instance before the greatest
// back-off since the instance before is over. The sync that stops the instance does not start the
// next one then (doBackOff in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (c *Container) livesBelowBackOff() bool {
	p := c.liveness
	return p.delay+(p.failures-1)*p.period < longestBackOff
}

// longestBackOff is the greatest back-off of a container (MaxCrashLoopBackOff in
// pkg/kubelet/kubelet.go at v1.37.0).
const longestBackOff = 5 * time.Minute

// carriedStart returns the limits of a start if the kubelet carries over that the container has
// started. The first tick of the startup probe that sees the instance corrects this and does not
// count. Up to then, the liveness probe counts, so the tick comes before this probe has failed too
// often.
//
// After a crash, the sync for a failure of the liveness probe starts the instance, so the next
// ticks of this probe come whole periods later.
func (c *Container) carriedStart(which StartCase) Range {
	p, shown, seconds, wait := c.startup, c.shown(false), c.startup.delayed(), c.node.longestWait()
	killed := c.killedBefore(which, shown)
	corrected := min(shown.Greatest+p.period, killed.Greatest+c.liveness.leastTook())
	if p.period < wait { // the sync for the correction can wait for a relist, and the next tick comes before it
		corrected = shown.Greatest + wait
	}
	first := Range{
		max(shown.Least+p.period, seconds.Least),
		max(corrected+p.period, greatestTick(seconds.Greatest, p.period, Range{-corrected, -shown.Least})),
	}
	limit := first.plus(p.later(p.failures-1), p.lastChance())
	fails := max(shown.Greatest, c.liveness.delayed().Least) + (c.liveness.failures-1)*c.liveness.period
	if max(killed.Least, fails) < shown.Greatest+p.period { // between two ticks of the startup probe
		limit.Least = min(limit.Least, killed.Least+c.liveness.lastChance().Least)
	}
	return limit
}

// killedBefore returns the time from a start until the last run of the liveness probe that its
// threshold needs, if the startup probe does not correct that the container has started. A kill can
// take any time, so the start can come at any time between two ticks.
func (c *Container) killedBefore(which StartCase, shown Range) Range {
	p, seconds := c.liveness, c.liveness.delayed()
	counts := Range{max(shown.Least, seconds.Least), max(shown.Greatest, seconds.Greatest)}
	if p.leastTook() > p.period { // the runs follow each other instead of the ticks
		return Range{counts.Least + (p.failures-1)*p.period, counts.Greatest + p.failures*p.step().Greatest}
	}
	begins := Range{0, p.period}
	if which == AfterCrash {
		begins = c.startsAfterFailure()
	}
	return nextTick(counts, p.period, begins).
		plus(Range{(p.failures - 1) * p.period, (p.failures - 1) * p.step().Greatest})
}

// startsAfterFailure returns the time from the begin of a run of the liveness probe that fails
// because of an exit to the start of the next instance in the sync for this failure. The run that
// goes on at the exit can begin just before.
func (c *Container) startsAfterFailure() Range {
	p := c.liveness
	d := Range{p.leastTook(), p.took()}.plus(c.node[stopContainer], c.starts())
	d.Greatest += c.node.longestWait() + c.node[stopReturn].Greatest
	if c.spec.Lifecycle != nil { // the hook before the stop runs too
		d.Greatest += min(c.grace(), LongestLimit)
	}
	return d
}

// KilledAtTickOnly reports whether the liveness probe can stop a start that it should not see only
// if it runs before everything else at a tick of both probes. The ticks of both began together.
func (c *Container) KilledAtTickOnly() bool {
	p := c.liveness
	if c.startup == nil || p == nil {
		return false
	}
	return divisor(c.startup.period, p.period)+(p.failures-1)*p.period >= c.startup.period
}
