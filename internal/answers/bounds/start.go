package bounds

import "time"

// StartCase says which start of the container is meant.
type StartCase string

const (
	// FirstInstance is the first start, on a kubelet that is older than the periods of the probes.
	FirstInstance StartCase = "first start"
	// YoungKubelet is the first start, on a kubelet that is younger than the periods of the probes.
	// Its probes begin at a random time.
	YoungKubelet StartCase = "first start on a young kubelet"
	// AfterLivenessKill is the start after the liveness probe has stopped the container.
	AfterLivenessKill StartCase = "after a liveness kill"
	// AfterStartupKill is the start after a start that took too long.
	AfterStartupKill StartCase = "after a startup kill"
	// AfterCrash is the start after the program has exited, once it was up.
	AfterCrash StartCase = "after a crash"
	// AfterCrashWhileStarting is the start after the program has exited before it was up.
	AfterCrashWhileStarting StartCase = "after a crash while starting"
)

// StartCases returns the cases that can occur for the container: none if no probe limits its
// starts, and only those of the first start if it does not restart.
func (c *Container) StartCases() []StartCase {
	if c.killer() == nil {
		return nil
	}
	list := []StartCase{FirstInstance, YoungKubelet}
	if !c.restarts() {
		return list
	}
	if c.liveness != nil {
		list = append(list, AfterLivenessKill)
	}
	if c.startup != nil {
		list = append(list, AfterStartupKill)
	}
	return append(list, AfterCrash, AfterCrashWhileStarting)
}

// Start returns how long the container may take to start: how long an instance may refuse all
// probes, counted from its start, without a probe that stops it. It is Never if no probe does.
//
// A probe counts once a sync has shown the start to it, and initialDelaySeconds has passed since
// the whole second before the start. Its first run that counts comes at most a period later
// (doProbe in pkg/kubelet/prober/worker.go at v1.37.0). The last run that the threshold needs
// decides:
//
//	start ──► shown, delay over ──► first run ──► (failureThreshold - 1) x periodSeconds ──► last run
func (c *Container) Start(which StartCase) Range {
	p := c.killer()
	switch {
	case p == nil:
		return never
	case c.scoped():
		return c.scopedStart()
	case !c.carriesStart(which):
		if p.tooSlow() {
			return never
		}
		return c.freshStart(which)
	}
	limit := c.carriedStart(which)
	if which == AfterCrash || c.livesBelowBackOff() { // the kubelet need not carry it over
		limit = limit.Or(c.freshStart(which))
	}
	if p.tooSlow() {
		limit.Greatest = Never
	}
	return limit
}

// freshStart returns the limits of a start if the kubelet carries over nothing. The first tick that
// counts is the next one for a first start, since the ticks begin just before. A later start comes
// at any time between two ticks.
func (c *Container) freshStart(which StartCase) Range {
	p := c.killer()
	shown, seconds := c.shown(which == FirstInstance || which == YoungKubelet), p.delayed()
	first := Range{max(shown.Least, seconds.Least), max(shown.Greatest, seconds.Greatest) + p.step().Greatest}
	if which == FirstInstance {
		first = c.firstRun(p)
	}
	later := p.later(p.failures - 1)
	switch {
	// the kubelet keeps counting failures, up to the last one before the threshold
	case which == AfterCrashWhileStarting:
		later.Least = 0
	case which == AfterCrash && p == c.liveness:
		later.Least = p.left(c.failsWithin(p)) * p.step().Least
	}
	return first.plus(later, p.lastChance())
}

// firstRun returns the time from the first start until the first run of a probe that counts.
func (c *Container) firstRun(p *probe) Range {
	shown, seconds := c.shown(true), p.delayed()
	return nextTick(Range{max(shown.Least, seconds.Least), max(shown.Greatest, seconds.Greatest)}, p.period,
		c.begins(p))
}

// failsWithin returns the longest time from the begin of the first run of a probe that fails
// because of an exit until the kubelet acts on the exit. A run that is going on at the exit fails
// too. The first relist after the exit finds it. If another sync comes during this relist, the
// kubelet acts only after the next one (podWorkerLoop in pkg/kubelet/pod_workers.go and updateCache
// in pkg/kubelet/pleg/generic.go at v1.37.0).
func (c *Container) failsWithin(p *probe) time.Duration {
	return c.failsUnseen(p) + c.node.relistsApart() + c.look()
}

// failsUnseen is like failsWithin, but until a relist shows the exit to the syncs.
func (c *Container) failsUnseen(p *probe) time.Duration {
	return p.answered() + relistPeriod + 2*c.look()
}

// scopedStart returns the limits of a start if the probe belongs to the instance: its first run
// comes when initialDelaySeconds have passed since the start, and nothing is carried over
// (firstProbeDelay in pkg/kubelet/prober/container_bound_worker.go of kubernetes#140704).
func (c *Container) scopedStart() Range {
	p := c.killer()
	if p.tooSlow() {
		return never
	}
	return exactly(p.delay).plus(p.later(p.failures-1), p.lastChance())
}

// LeastAfterOneCrash returns the least limit of AfterCrash if the container has not crashed before,
// so that no back-off delays its start, and the first relist after the exit leads to it. The
// instance then starts within some seconds of a tick at which a run fails because of the exit.
func (c *Container) LeastAfterOneCrash() time.Duration {
	p := c.killer()
	if p == nil || p != c.liveness || c.scoped() {
		return c.Start(AfterCrash).Least
	}
	unseen := c.failsUnseen(p)
	first := leastTick(max(c.shown(false).Least, p.delayed().Least), p.period, Range{0, unseen + c.starts().Greatest})
	return first + p.left(unseen)*p.step().Least + p.lastChance().Least
}
