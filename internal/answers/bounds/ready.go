package bounds

import "time"

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
