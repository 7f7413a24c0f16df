package bounds

// scopedReady is UntilReady with ContainerScopedProbes. The startup probe runs when its
// initialDelaySeconds have passed since the start, and its success begins the readiness probe,
// which no sync triggers (pkg/kubelet/prober/container_bound_manager.go and
// container_bound_worker.go of kubernetes#140704). A container without a readiness probe is ready
// with the sync for the success of its startup probe. The status shows a result only once a sync
// has shown the start, and that sync can wait for a relist.
func (c *Container) scopedReady(atOnce bool) Range {
	first := exactly(c.waiting().delay)
	if !atOnce { // the program comes up just before a run, or just after one
		first = Range{0, c.waiting().step().Greatest}
	}
	until := first.plus(c.waiting().answer)
	if c.startup != nil && c.readiness != nil {
		delay := exactly(c.readiness.delay)
		if !atOnce { // the program comes up after the first run of the startup probe
			delay = Range{0, max(0, c.readiness.delay-c.startup.delay)}
		}
		until = Range{max(until.Least, delay.Least), max(until.Greatest, delay.Greatest)}.plus(c.readiness.answer)
	}
	if p := c.readiness; p != nil {
		later := p.later(p.successes - 1)
		until = until.plus(later)
		if !atOnce && later.Least > 0 { // the first success can come late in its run
			until.Least = max(0, until.Least-p.lastChance().Greatest)
		}
	}
	shown := c.shown(true)
	written := Range{c.node.write().Least, c.node.lists().Greatest + 2*c.node.write().Greatest}
	if atOnce {
		until.Least = max(until.Least, shown.Least)
	}
	if until.Least <= shown.Greatest+c.node.longestWait() || c.readiness == nil {
		until.Greatest = max(until.Greatest, shown.Greatest) + c.node.longestWait()
	}
	return until.plus(written)
}
