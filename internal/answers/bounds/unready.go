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

// UntilUnready returns the time from the misfortune of a healthy container until the status in the
// API says that the container is not ready.
//
// The sync loop writes a failure of the readiness probe into the status, without a sync
// (syncLoopIteration in pkg/kubelet/kubelet.go at v1.37.0). If the liveness probe stops the
// container first, the status shows it in the next sync, once a sync has stopped the container and
// started its next instance.
func (c *Container) UntilUnready(m Misfortune) Time {
	if c.readiness == nil {
		return Time{Range: never}
	}
	// last is the greatest time until the run of the readiness probe that reaches its threshold
	// begins
	until, last := never, Never
	if c.readiness.fails(m) {
		until = c.readiness.failure(m)
		last = until.Greatest - c.readiness.tookDuring(m).Greatest
		until.Greatest += c.node.lists().Greatest
	}
	if c.liveness.fails(m) && !c.liveness.tooSlow() {
		until = c.untilRestartShown(m, until, last)
	}
	return Time{until.plus(c.node.write()), c.AtMiddle().meanUnready(m)}
}

// UntilReadinessFails returns the time from the misfortune of a healthy container until the status
// in the API shows the failure of its readiness probe. The liveness probe does not come before.
func (c *Container) UntilReadinessFails(m Misfortune) Range {
	if !c.readiness.fails(m) {
		return never
	}
	return c.readiness.failure(m).plus(Range{0, c.node.lists().Greatest}, c.node.write())
}

// meanUnready returns the mean of UntilUnready over the phases of the misfortune against the
// readiness probe, on a node with fixed latencies. It is 0 if the liveness probe can stop the
// container first: the phase of one probe against the other then decides.
func (c *Container) meanUnready(m Misfortune) time.Duration {
	switch {
	case !c.readiness.fails(m):
		return 0
	case c.liveness.fails(m) && c.liveness.failure(m).plus(c.stops(c.spec)).Least < c.readiness.failure(m).Greatest:
		return 0
	}
	return c.readiness.failureAt(0.5, m) + c.node.write().Least
}

// untilRestartShown returns the time until a container is not ready whose liveness probe can stop
// it before its readiness probe has failed often enough.
func (c *Container) untilRestartShown(m Misfortune, until Range, last time.Duration) Range {
	exit := c.liveness.failure(m).plus(c.stops(c.spec), Range{0, c.node.longestWait()})
	starts, shown := c.startsAgain(), c.shownAgain()
	until.Least = min(until.Least, exit.Least+starts.Least+shown.Least, c.failureAfterExit(m, exit.Least))
	switch {
	case !c.losesFailures():
		until.Greatest = min(until.Greatest, c.failsByExit(exit, starts, shown, last))
	case exit.Least < last:
		if !c.scoped() { // a run that has begun before the exit fails then
			until.Greatest = min(until.Greatest, exit.Greatest+c.readiness.took()+c.node.lists().Greatest)
		}
		until.Greatest = max(until.Greatest, later(last, starts.Greatest+shown.Greatest))
	}
	if c.scoped() && !c.readiness.fails(m) { // the next instance can be ready before a status shows it
		return until
	}
	until.Greatest = min(until.Greatest, c.liveness.failure(m).Greatest+c.restartShown(m))
	return until
}

// restartShown returns the greatest time from the verdict of the liveness probe until a sync shows
// the next instance. The sync loop can take the verdict late, since it lists what runs for its
// housekeeping. Or the sync that stops the container waits for a relist. The next relists then
// begin a second after the end of the one before (podWorkerLoop in pkg/kubelet/pod_workers.go and
// Start in pkg/kubelet/pleg/generic.go at v1.37.0).
func (c *Container) restartShown(m Misfortune) time.Duration {
	n := &c.node
	lists, stop, starts := n.lists().Greatest, c.stops(c.spec).Greatest, c.startsAgain().Greatest
	// The relist before the start can have just listed the container as created, and inspects it.
	seen := starts + max(lists, c.inspects(false))
	if c.hooked() { // the relist before can inspect the start during the hook
		starts += c.rest(false).Greatest
		seen = starts + c.look()
	}
	seen += c.relistsLater()
	atOnce := lists + stop + seen + c.look()
	late := n.longestWait() + min(stop+seen, c.relistedBy(stop+starts)) + c.look()
	// The sync before can be that of the status that shows the container as ready, or one for
	// another container.
	if c.liveness.failure(m).Least < n.longestWait() || !c.alone() {
		return max(late+lists, atOnce)
	}
	return max(n.lateBy(late), atOnce)
}

// relistedBy returns the greatest time from the end of a relist until one begins that finds an
// instance. The instance starts after some time. The relists before inspect the exit of the
// instance before, and the container once it is created (reconcilePodRecord in
// pkg/kubelet/pleg/generic.go at v1.37.0).
func (c *Container) relistedBy(start time.Duration) time.Duration {
	lists := c.node.lists()
	begun := (start + lists.Least) / (relistPeriod + lists.Least) // relists before the start
	next := begun*c.node.relistsApart() + relistPeriod
	if begun > 0 {
		next += c.inspects(false)
	}
	if begun > 1 {
		next += c.inspects(true)
	}
	switch {
	case !c.settings.Profile.PLEGOnDemandRelist:
		return next
	case begun == 0:
		return start
	}
	return max(start, next-relistPeriod) // the sync asks for a relist, which begins after one that has begun
}

// failsByExit returns the greatest time until a status is not ready if a container exits, and runs
// of the readiness probe fail at once from then on. They do so until the next instance starts,
// which has the misfortune too. A sync then shows this instance. The last run that the threshold
// needs begins after some time, and after its number of periods at most if all runs that fail are
// after the exit.
func (c *Container) failsByExit(exit, starts, shown Range, last time.Duration) time.Duration {
	p := c.readiness
	refused := p.took() + c.node.lists().Greatest
	afterExit := exit.Greatest + min(starts.Greatest, p.failures*p.period) + max(refused, shown.Greatest)
	if last == Never {
		return afterExit
	}
	begun := last + refused
	if last > exit.Least+starts.Least {
		begun = last + max(refused, shown.Greatest)
	}
	return min(afterExit, max(begun, exit.Greatest+refused))
}

// failureAfterExit returns the least time from a misfortune until the readiness probe has failed as
// often as its threshold says, if the container exits before. The run that goes on at the exit
// fails at once, as later ones do, but for those of commands.
func (c *Container) failureAfterExit(m Misfortune, exit time.Duration) time.Duration {
	p := c.readiness
	runs := (p.failures - 1) * p.period
	switch {
	case !p.fails(m): // all runs that fail are after the exit
		return exit + runs
	case p.Exec != nil:
		runs = (p.failures - 1) * max(p.period, p.tookDuring(m).Least)
	}
	return max(exit, runs)
}

// losesFailures reports whether runs of the readiness probe that would fail do not count after the
// exit of the container: a command cannot run, which is no failure, and a probe that belongs to the
// instance ends with it.
func (c *Container) losesFailures() bool { return c.readiness.Exec != nil || c.scoped() }
