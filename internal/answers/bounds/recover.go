package bounds

import "time"

// UntilRecovered returns the time from a hang of a healthy container until its next instance is up
// and ready, on a node in the middle of the latencies. The program ignores the stop signal while it
// hangs, and its next instance takes a while to start. The status must show this instance: the
// kubelet can show the one before as ready for a moment. The time does not take into account that a
// probe can stop the next instance, nor that the sync that stops this one waits for a relist if
// another sync has come just before.
//
//	hang ──► verdict of the liveness probe ──► hook, grace period, SIGKILL ──► next start
//	     ──► shown, up ──► probes succeed ──► status
func (c *Container) UntilRecovered(start time.Duration) Time {
	m := c.AtMiddle()
	p := m.liveness
	if !p.fails(Hang) || p.tooSlow() || !c.restarts() {
		return Time{Range: never}
	}
	again := m.untilKilled().plus(m.node[stopReturn], m.starts()) // from the verdict to the start
	ready := m.readyAgain(start, p.timeout+again.Least)
	until := Time{Range: p.failure(Hang).plus(again, ready, m.node.write())}
	if ready.Greatest-ready.Least < time.Second { // otherwise the phases of the syncs decide
		until.Mean = p.failureAt(0.5, Hang) + again.Least + ready.middle() + m.node.write().Least
	}
	return until
}

// untilKilled returns the time from a verdict of the liveness probe until SIGKILL. The program has
// two seconds after the hook at least (killContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (c *Container) untilKilled() Range {
	grace := c.grace()
	if g := c.liveness.TerminationGracePeriodSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	hook := c.preStop(c.spec).most(grace)
	return exactly(max(grace, hook.Greatest+minimumGrace)).plus(c.node[stopContainer])
}

// minimumGrace is the least time between the hook and SIGKILL (minimumGracePeriodInSeconds in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
const minimumGrace = 2 * time.Second

// readyAgain returns the time from the start of the next instance until the last probe run that it
// needs has succeeded. The start comes some time after a tick of the liveness probe. The sync loop
// can take a result late, and the status manager can still be at work. If the kubelet carries over
// that the container has started, the container can become ready before its startup probe has
// succeeded.
func (c *Container) readyAgain(start, afterTick time.Duration) Range {
	n := &c.node
	look := n.lists().Least + n[podSandboxStatus].Least +
		time.Duration(len(c.pod.Containers)+len(c.pod.InitContainers)+1)*n[containerStatus].Least
	shown := c.rest(false).plus(Range{look, c.look() + c.relistsLater() + n.lists().Least + n[apiGet].Least})
	up := Range{max(start, shown.Least), max(start, shown.Greatest)}
	atOnce := c.readiness == nil || c.readiness.delay == 0
	carries := c.carriesStart(AfterLivenessKill)
	// two more follow: for another event of the relist, and for the initial result of the probe
	syncs := Range{shown.Least, shown.Greatest + 2*n.longestWait()}
	if c.startup == nil || carries && atOnce && start == 0 {
		return c.succeedsAgain(up, syncs, start > 0)
	}
	started := c.startedAgain(up, afterTick)
	if !carries {
		return c.succeedsAgain(started, Range{started.Least, started.Greatest + 2*n.longestWait()}, false)
	}
	// the first tick of the startup probe that sees the instance corrects this, and need not count
	corrected := c.tickAfter(shown, afterTick)
	started.Greatest = max(started.Greatest, corrected.Greatest+c.startup.period+c.startup.answer.Greatest)
	ready := c.succeedsAgain(started, Range{started.Least, started.Greatest + n.lists().Greatest}, false)
	if early := c.succeedsAgain(up, syncs, true); early.Least <= corrected.Greatest {
		return ready.Or(early)
	}
	return ready
}

// succeedsAgain returns the time until the readiness probe of the next instance has succeeded as
// often as it has to, if the program is up from some time on. Syncs from some time on begin its
// period. If no sync shows that the program is up, it waits for a tick.
func (c *Container) succeedsAgain(up, syncs Range, waits bool) Range {
	p := c.readiness
	if p == nil {
		return up
	}
	first, seconds := up, p.delayed()
	if seconds.Greatest > up.Least { // the ticks begin with these syncs
		first = Range{max(up.Least, firstFrom(seconds.Least, p.period, syncs)),
			max(up.Greatest, lastFrom(seconds.Greatest, p.period, syncs))}
		if seconds.Least <= syncs.Greatest { // it ends among them
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
	most := later * p.period
	// the first run is that of a sync, and the initial result of the probe leads to another one
	if later > 0 && seconds.Greatest <= syncs.Least {
		most -= max(0, p.period-c.node.longestWait())
	}
	return first.plus(Range{(later - triggered) * p.period, most}, p.answer)
}

// startedAgain returns the time from the start of the next instance until its startup probe has
// succeeded, if the program is up from some time on.
func (c *Container) startedAgain(up Range, afterTick time.Duration) Range {
	seconds := c.startup.delayed()
	return c.tickAfter(Range{max(up.Least, seconds.Least), max(up.Greatest, seconds.Greatest)}, afterTick).
		plus(c.startup.answer)
}

// tickAfter returns the time from the start of the next instance until the first tick of the
// startup probe from a moment on. The ticks of this probe and of the liveness probe began together.
func (c *Container) tickAfter(moment Range, afterTick time.Duration) Range {
	p := c.startup
	common := divisor(p.period, c.liveness.period)
	at := func(moment time.Duration) time.Duration { return ceil(moment+afterTick, common) - afterTick }
	return Range{at(moment.Least), at(moment.Greatest) + p.period - common}
}
