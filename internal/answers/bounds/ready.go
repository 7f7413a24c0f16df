package bounds

import (
	"time"

	"probesim.dev/trace"
)

// UntilReady returns the greatest time from the moment at which the program of the first instance
// is up until the status in the API shows the container as ready, on a kubelet of any age. If
// atOnce is true, the program is up when the container starts; otherwise it comes up after the
// first run of the probe that waits for it. The time is 0 without a startup and a readiness probe.
//
//	up at once    start ──► shown, delay over ──► a period, up to the next tick ──► success ──► status
//	up later      a run has just begun ──► a period, up to the next run ──► success ──► status
//
// The worker of a probe on a kubelet that is younger than the period sleeps for a random part of it
// first, so a tick can come at any time. A container with both probes needs a success of the
// startup probe before. The sync for it lets the readiness probe run, and can wait for a relist
// (run in pkg/kubelet/prober/worker.go and isContainerReady in pkg/kubelet/prober/prober_manager.go
// at v1.37.0).
func (c *Container) UntilReady(atOnce bool) time.Duration {
	first, write, lists := c.waiting(), c.node.write().Greatest, c.node.lists().Greatest
	switch {
	case first == nil:
		return 0
	case c.scoped():
		return c.scopedReady(atOnce)
	}
	until, since := first.step().Greatest, max(c.shown(true).Least, first.delayed().Least)
	if atOnce {
		until, since = c.firstSuccess(first), 0
	}
	until += first.answer.Greatest
	later, soon := c.laterSuccesses()
	switch p := c.readiness; {
	case p == nil:
		until += c.startedLate()
	case c.startup != nil:
		until += c.startedLate()
		if p.delay > first.delay { // both count from the same second
			until = max(until, c.firstSuccess(p)-since)
		}
		wakes := p.period - c.begins(p).Least - since // the worker of a young kubelet
		until = max(until+later, wakes+c.startedLate()+soon) + p.answer.Greatest
	case atOnce && p.delay == 0 && !c.sidecar(): // the sync before goes on while the next container of a sidecar starts
		until += soon
	default:
		until += later
	}
	if 2*write >= time.Second || !c.alone() { // a status of a sync before, or of another container, is still on its way
		until += write
	}
	return until + lists + write
}

// firstSuccess returns the greatest time from the first start until a run of a probe begins that
// succeeds if the program is up. The first sync that shows the start triggers the readiness probe,
// which wastes the trigger if it comes before the status is stored. It then runs at its next tick,
// or after the sync for an event that no relist has found before.
func (c *Container) firstSuccess(p *probe) time.Duration {
	shown := c.shown(true).Greatest
	if p != c.readiness || p.delay > 0 || c.sidecar() || c.endsWithHook(true) {
		return max(shown, p.delayed().Greatest) + p.period
	}
	last := min(shown, relistPeriod+3*c.node.lists().Greatest+2*c.inspects(true)) // no sync for an event follows
	return max(last+p.period, shown+min(p.period, c.node.longestWait()))
}

// startedLate returns the greatest time from the success of the startup probe until its sync, with
// the time for which the status manager is at work then.
func (c *Container) startedLate() time.Duration {
	return max(c.node.longestWait(), c.node.write().Greatest) + c.node[apiGet].Greatest
}

// laterSuccesses returns the greatest time from the first run of the readiness probe that succeeds
// to the last one that it needs, and that time if the initial result of the probe leads to a sync,
// which triggers the second run.
func (c *Container) laterSuccesses() (later, triggered time.Duration) {
	p := c.readiness
	if p == nil || p.successes == 1 {
		return 0, 0
	}
	step := p.step().Greatest
	later = (p.successes - 1) * step
	return later, later - step + min(step, max(p.answer.Greatest, c.node.longestWait()))
}

// scopedReady is UntilReady with ContainerScopedProbes. The first run of the startup probe comes
// when its initialDelaySeconds have passed since the start, and its success begins the readiness
// probe, which no sync triggers (pkg/kubelet/prober/container_bound_manager.go and
// container_bound_worker.go of kubernetes#140704). The status shows a result only once a sync has
// shown the start, and that sync can wait for a relist.
func (c *Container) scopedReady(atOnce bool) time.Duration {
	first, p := c.waiting(), c.readiness
	until, since := first.step().Greatest, first.delay
	if atOnce {
		until, since = first.delay, 0
	}
	until += first.answer.Greatest
	if p != nil && c.startup != nil {
		until = max(until, p.delay-since) + p.answer.Greatest
	}
	if p != nil {
		until += p.later(p.successes - 1).Greatest
	}
	n := &c.node
	return max(until, c.shown(true).Greatest) + n.longestWait() + n.lists().Greatest + 2*n.write().Greatest
}

// ReadyUnasked returns the time from the start of the first instance until the status in the API
// shows it as ready, if the container has neither a startup nor a readiness probe: the first status
// that shows it running also shows it as ready (UpdatePodStatus in
// pkg/kubelet/prober/prober_manager.go at v1.37.0). A status that is being written comes first.
func (c *Container) ReadyUnasked() Range {
	write := c.node.write()
	return c.shown(true).plus(write, Range{0, write.Greatest})
}

// UnreadyAtKubeletRestart returns for how long a healthy container is not ready at most after a
// restart of the kubelet, which forgets the results of its probes with
// ChangeContainerStatusOnKubeletRestart. It is 0 for other kubelets. The container is not ready
// from the first look of the readiness probe until this probe has succeeded as often as it has to;
// with a startup probe, from the first look of this one on, and the worker of the readiness probe
// can sleep for its period longer (onNewContainer in pkg/kubelet/prober/worker.go at v1.34.0).
func (c *Container) UnreadyAtKubeletRestart() time.Duration {
	if !c.settings.Profile.ChangeContainerStatusOnKubeletRestart || c.readiness == nil {
		return 0
	}
	_, unready := c.laterSuccesses()
	if c.startup != nil {
		unready += c.readiness.period
	}
	return unready
}

// UntilRecovered returns the greatest time from a hang of a healthy container until its next
// instance is up and ready, on a node in the middle of the latencies. The program ignores the stop
// signal while it hangs, and its next instance takes a while to start. The status must show this
// instance: the kubelet can show the one before as ready for a moment. The time does not take into
// account that a probe can stop the next instance, nor that the sync that stops this one waits for
// a relist if another sync has come just before.
//
//	hang ──► verdict of the liveness probe ──► hook, grace period, SIGKILL ──► next start
//	     ──► shown, up ──► probes succeed ──► status
func (c *Container) UntilRecovered(start time.Duration) time.Duration {
	m := c.AtMiddle()
	p := m.liveness
	if !p.fails(Hang) || p.tooSlow() || !c.restarts() {
		return Never
	}
	again := m.untilKilled().plus(m.node[stopReturn], m.starts()).Greatest // from the verdict to the start
	return p.failure(Hang).Greatest + again + m.readyAgain(start, p.timeout+again) + m.node.write().Greatest
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

// readyAgain returns the greatest time from the start of the next instance until the last probe run
// that it needs has succeeded. The start comes some time after a tick of the liveness probe. The
// sync loop can take a result late, and the status manager can still be at work. If the kubelet
// carries over that the container has started, the container can become ready before its startup
// probe has succeeded.
func (c *Container) readyAgain(start, afterTick time.Duration) time.Duration {
	n := &c.node
	look := n.lists().Least + n[podSandboxStatus].Least +
		time.Duration(len(c.pod.Containers)+len(c.pod.InitContainers)+1)*n[containerStatus].Least
	shown := c.rest(false).plus(Range{look, c.look() + c.relistsLater() + n.lists().Least + n[apiGet].Least})
	up := Range{max(start, shown.Least), max(start, shown.Greatest)}
	carries := c.carriesStart(AfterLivenessKill)
	// two more follow: for another event of the relist, and for the initial result of the probe
	syncs := Range{shown.Least, shown.Greatest + 2*n.longestWait()}
	if c.startup == nil || carries && (c.readiness == nil || c.readiness.delay == 0) && start == 0 {
		return c.succeedsAgain(up, syncs, start > 0)
	}
	started := c.startedAgain(up, afterTick)
	if !carries {
		return c.succeedsAgain(started, Range{started.Least, started.Greatest + 2*n.longestWait()}, false)
	}
	// the first tick of the startup probe that sees the instance corrects this, and need not count
	corrected := c.tickAfter(shown, afterTick).Greatest + c.startup.period + c.startup.answer.Greatest
	started.Greatest = max(started.Greatest, corrected)
	ready := c.succeedsAgain(started, Range{started.Least, started.Greatest + n.lists().Greatest}, false)
	return max(ready, c.succeedsAgain(up, syncs, true))
}

// succeedsAgain returns the greatest time until the readiness probe of the next instance has
// succeeded as often as it has to, if the program is up from some time on. Syncs from some time on
// begin its period. If no sync shows that the program is up, it waits for a tick.
func (c *Container) succeedsAgain(up, syncs Range, waits bool) time.Duration {
	p, first := c.readiness, up.Greatest
	if p == nil {
		return first
	}
	delayed := p.delayed().Greatest
	if delayed > up.Least { // the ticks begin with these syncs
		first = max(first, lastFrom(delayed, p.period, syncs))
	}
	if waits {
		first = max(first, up.Greatest+p.period)
	}
	later := (p.successes - 1) * p.period
	// the first run is that of a sync, and the initial result of the probe leads to another one
	if later > 0 && delayed <= syncs.Least {
		later -= max(0, p.period-c.node.longestWait())
	}
	return first + later + p.answer.Greatest
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
func (c *Container) UntilStopped(m Misfortune) Range {
	if !c.liveness.fails(m) || c.liveness.tooSlow() {
		return never
	}
	stop := c.preStop(c.spec).plus(c.node[stopContainer])
	return c.liveness.failure(m).plus(stop, Range{0, c.node.longestWait()})
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

// UntilUnready returns the time from the misfortune of a healthy container until the status in the
// API says that the container is not ready.
//
// The sync loop writes a failure of the readiness probe into the status, without a sync
// (syncLoopIteration in pkg/kubelet/kubelet.go at v1.37.0). If the liveness probe stops the
// container first, the status shows it in the next sync, once a sync has stopped the container and
// started its next instance. From the exit on, runs of the readiness probe fail too.
func (c *Container) UntilUnready(m Misfortune) Range {
	if c.readiness == nil {
		return never
	}
	until := never
	if c.readiness.fails(m) {
		until = c.readiness.failure(m).plus(Range{0, c.node.lists().Greatest})
	}
	if !c.liveness.fails(m) || c.liveness.tooSlow() {
		return until.plus(c.node.write())
	}
	exit := c.liveness.failure(m).plus(c.stops(c.spec), Range{0, c.node.longestWait()})
	// the sync loop can take the verdict and the event of the start late, since it lists what runs
	restarted := exit.plus(c.startsAgain(), c.shownAgain()).Greatest + 2*c.node.lists().Greatest
	switch {
	case exit.Least >= until.Greatest: // the readiness probe is first
	case c.scoped() && !c.readiness.fails(m): // the next instance can be ready before a status shows it
		until.Least = exit.Least
	case c.losesFailures():
		until = Range{min(until.Least, exit.Least), restarted}
	default:
		until = Range{min(until.Least, exit.Least), min(until.Greatest, restarted)}
	}
	return until.plus(c.node.write())
}

// UntilReadinessFails returns the time from the misfortune of a healthy container until the status
// in the API shows the failure of its readiness probe. The liveness probe does not come before.
func (c *Container) UntilReadinessFails(m Misfortune) Range {
	if !c.readiness.fails(m) {
		return never
	}
	return c.readiness.failure(m).plus(Range{0, c.node.lists().Greatest}, c.node.write())
}

// losesFailures reports whether runs of the readiness probe that would fail do not count after the
// exit of the container: a command cannot run, which is no failure, and a probe that belongs to the
// instance ends with it.
func (c *Container) losesFailures() bool { return c.readiness.Exec != nil || c.scoped() }
