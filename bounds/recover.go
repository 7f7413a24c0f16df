package bounds

import "time"

// UntilRecovered returns the time from a hang of a healthy container until its next instance is up and ready, on a node in the middle of the latencies. The
// program ignores the stop signal while it hangs, and its next instance takes a while to start. The status must show this instance: the kubelet can show
// the one before as ready for a moment. The time does not take into account that a probe can stop the next instance.
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
		p.failureAt(0.5, Hang) + again.Least + ready.middle() + m.node.write().Least,
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
// the liveness probe. The sync loop can take a result late, and the status manager can still be at work. If the kubelet carries over that the container has
// started, the container can become ready before its startup probe has succeeded.
func (c *Container) readyAgain(start, afterTick time.Duration) Range {
	n := &c.node
	look := n.lists().Least + n[podSandboxStatus].Least + time.Duration(len(c.pod.Containers)+len(c.pod.InitContainers)+1)*n[containerStatus].Least
	shown := c.rest(false).plus(Range{look, c.look() + c.relistsLater() + n.lists().Least + n[apiGet].Least})
	up := Range{max(start, shown.Least), max(start, shown.Greatest)}
	atOnce := c.readiness == nil || c.readiness.delay == 0
	carries := c.carriesStart(AfterLivenessKill)
	if c.startup == nil || carries && atOnce && start == 0 {
		return c.succeedsAgain(up, shown, start > 0)
	}
	// The first tick of the startup probe that sees the instance corrects this, and need not count.
	carries = carries && start <= shown.Greatest+c.startup.period+n.longestWait()
	started := c.startedAgain(up, afterTick)
	if carries {
		started.Greatest += c.startup.period
	}
	ready := c.succeedsAgain(started, started, false)
	if carries {
		ready.Least = min(ready.Least, c.succeedsAgain(up, shown, true).Least)
	}
	return ready
}

// succeedsAgain returns the time until the readiness probe of the next instance has succeeded as often as it has to, if the program is up from some time on. Syncs from
// some time on begin its period. If no sync shows that the program is up, it waits for a tick.
func (c *Container) succeedsAgain(up, syncs Range, waits bool) Range {
	p := c.readiness
	if p == nil {
		return up
	}
	first, seconds := up, p.delayed()
	if seconds.Greatest > up.Least { // the ticks begin with these syncs
		resets := Range{syncs.Least, syncs.Greatest + 2*c.node.longestWait()}
		first = Range{max(up.Least, firstFrom(seconds.Least, p.period, resets)), max(up.Greatest, lastFrom(seconds.Greatest, p.period, resets))}
		if seconds.Least <= resets.Greatest { // it ends among them
			first.Least = max(up.Least, seconds.Least)
		}
	}
	if waits {
		first.Greatest = max(first.Greatest, up.Greatest+p.period)
	}
	later := p.successes - 1
	triggered := min(later, 2) // of the later runs, by syncs that follow the first one
	if p.delay > 0 {
		triggered = min(later, 1)
	}
	return first.plus(Range{(later - triggered) * p.period, later * p.period}, p.answer)
}

// startedAgain returns the time from the start of the next instance until its startup probe has succeeded: at the first tick from a moment on. The ticks of both
// probes began together.
func (c *Container) startedAgain(from Range, afterTick time.Duration) Range {
	p := c.startup
	common := divisor(p.period, c.liveness.period)
	at := func(moment time.Duration) time.Duration { return ceil(moment+afterTick, common) - afterTick }
	first := Range{max(from.Least, p.delayed().Least), max(from.Greatest, p.delayed().Greatest)}
	return Range{at(first.Least), at(first.Greatest) + p.period - common}.plus(p.answer)
}
