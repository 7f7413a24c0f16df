package bounds

import "time"

// UntilRecovered returns the time from a hang of a healthy container until its next instance is up and ready, on a node in the middle of the latencies. The
// program ignores the stop signal while it hangs, and its next instance takes a while to start. Before this instance is up, the kubelet can show it as
// ready for a moment. The time does not take into account that a probe can stop the next instance.
//
//	hang ──► verdict of the liveness probe ──► hook, grace period, SIGKILL ──► next start ──► shown, up ──► probes succeed ──► status
func (c *Container) UntilRecovered(start time.Duration) Time {
	m := c.AtMiddle()
	p := m.liveness
	if !p.fails(Hang) || p.tooSlow() || !c.restarts() {
		return Time{Range: never}
	}
	again := m.untilKilled().plus(m.node[stopReturn], m.starts()) // from the verdict to the start
	ready := m.readyAgain(start, p.timeout+again.Least)
	return Time{
		p.failure(Hang).plus(again, ready, m.node.write()),
		p.meanFailure(Hang) + again.Least + ready.middle() + m.node.write().Least,
	}
}

// untilKilled returns the time from a verdict of the liveness probe until SIGKILL. The program has two seconds after the hook at least (killContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (c *Container) untilKilled() Range {
	grace := c.grace()
	if g := c.liveness.TerminationGracePeriodSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	hook := c.preStop(c.spec).most(grace)
	return exactly(max(grace, hook.Greatest+minimumGrace)).plus(c.node[stopContainer])
}

// minimumGrace is the least time between the hook and SIGKILL (minimumGracePeriodInSeconds in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
const minimumGrace = 2 * time.Second

// readyAgain returns the time from the start of the next instance until the last probe run that it needs has succeeded. The start comes some time after a tick of
// the liveness probe.
func (c *Container) readyAgain(start, afterTick time.Duration) Range {
	up := exactly(start)
	shown := Range{c.rest(false).Least + c.look(), c.rest(false).Greatest + c.look() + c.relistsLater()}
	if c.startup != nil && !(start == 0 && c.carriesStart(AfterLivenessKill)) {
		up = c.startedAgain(Range{max(start, shown.Least), max(start, shown.Greatest)}, afterTick)
	}
	p := c.readiness
	if p == nil {
		return Range{max(up.Least, shown.Least), max(up.Greatest, shown.Greatest)}
	}
	first := Range{max(up.Least, shown.Least), max(up.Greatest, shown.Greatest)}
	switch seconds := p.delayed(); {
	case seconds.Greatest > first.Greatest: // at a tick; a sync that shows the start begins them
		first = Range{max(seconds.Least, first.Least), seconds.Greatest + p.period}
	case start > 0 && c.startup == nil: // at the next tick
		first.Greatest += p.period
	}
	return first.plus(Range{0, (p.successes - 1) * p.period}, p.answer)
}

// startedAgain returns the time from the start of the next instance until its startup probe has succeeded: at the first tick from a moment on. The ticks of both
// probes began together.
func (c *Container) startedAgain(from Range, afterTick time.Duration) Range {
	p := c.startup
	common := divisor(p.period, c.liveness.period)
	at := func(moment time.Duration) time.Duration {
		return ceil(max(moment, p.delayed().Greatest)+afterTick, common) - afterTick
	}
	return Range{at(from.Least), at(from.Greatest) + p.period - common}.plus(p.answer)
}
