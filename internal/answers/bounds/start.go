package bounds

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
)

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

// shareSteps is the number of parts into which StartShare splits the range of each phase.
const shareSteps = 32

// StartShare returns the share of the first starts that succeed, from 0 to 1, if a start takes an
// evenly distributed time between two durations. It is the mean over the phases of the start
// against the ticks, the relists and the whole seconds, on a node whose other latencies are in the
// middle.
func (c *Container) StartShare(from, to time.Duration) float64 {
	p := c.killer()
	if p == nil || p.tooSlow() {
		return 1
	}
	m := c.AtMiddle()
	later := m.killer().later(p.failures-1).Greatest + m.killer().lastChance().middle()
	sum := 0.0
	begins, shown, seconds := c.begins(p).parts(shareSteps), m.shown(true).parts(shareSteps),
		p.delayed().parts(shareSteps)
	for i, begin := range begins {
		for k, show := range shown { // a shifted second for each, so that the phases fill the space evenly
			first := max(show, seconds[(i+k)%shareSteps])
			if c.scoped() {
				sum += share(p.delay+later, from, to)
				continue
			}
			sum += share(ceil(begin+first, p.period)-begin+later, from, to)
		}
	}
	return sum / (shareSteps * shareSteps)
}

// share returns the share of an interval below a limit.
func share(limit, from, to time.Duration) float64 {
	switch {
	case limit >= to:
		return 1
	case limit <= from:
		return 0
	}
	return float64(limit-from) / float64(to-from)
}

// parts returns the middles of some equal parts of the range.
func (a Range) parts(n time.Duration) []time.Duration {
	var list []time.Duration
	for i := range n {
		list = append(list, a.Least+(a.Greatest-a.Least)*(2*i+1)/(2*n))
	}
	return list
}

// One sync starts the containers of a pod one after the other, in the order of the spec, and runs
// the postStart hook of each. A later sync shows what has started to the probes (SyncPod in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).

// begins returns the time from a tick of a probe until the first start. The ticks begin with the
// sync that starts the container, so the delays of this sync decide between which of them the start
// can be. After an init container, it can be at any time.
func (c *Container) begins(p *probe) Range {
	d := c.node.sum(runPodSandbox, podSandboxStatus).plus(c.starts(), c.startsOf(c.startsBefore()))
	if c.follows() {
		d.Greatest = d.Least + p.period
	}
	return d
}

// rest returns how long the sync that starts an instance goes on: for the hook of the container,
// and on a first start for the containers that follow.
func (c *Container) rest(first bool) Range {
	d := c.postStart(c.spec, first)
	if first {
		d = d.plus(c.startsOf(c.startsAfter()))
	}
	return d
}

// endsWithHook reports whether the sync that starts an instance ends with a postStart hook.
func (c *Container) endsWithHook(first bool) bool {
	last := c.spec
	if after := c.startsAfter(); first && len(after) > 0 {
		last = &after[len(after)-1]
	}
	return last.Lifecycle != nil && last.Lifecycle.PostStart != nil
}

// startsOf returns how long the kubelet takes to start some containers and to run their hooks.
func (c *Container) startsOf(list []v1.Container) (d Range) {
	for i := range list {
		d = d.plus(c.node.startsOf(&list[i]), c.postStart(&list[i], true))
	}
	return d
}

// starts returns how long the kubelet takes to start the container.
func (c *Container) starts() Range { return c.node.startsOf(c.spec) }

// startsOf returns how long the kubelet takes to start a container, without its hook: it looks
// twice for the image, pulls it if it has to, and creates and starts the container (startContainer
// in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (n *node) startsOf(c *v1.Container) Range {
	d := n.sum(imageStatus, imageStatus, createContainer, startContainer)
	if c.ImagePullPolicy == v1.PullAlways {
		d = d.plus(n[imagePull])
	}
	return d
}

// postStart returns how long the postStart hook of a container takes, or 0 if it has none.
func (c *Container) postStart(of *v1.Container, first bool) Range {
	if of.Lifecycle == nil {
		return Range{}
	}
	return c.takes(of.Lifecycle.PostStart, c.settings.Programs.Containers[of.Name].Program.PostStartSleep,
		c.known(of, first))
}

// preStop returns how long the preStop hook of a container takes, or 0 if it has none. The grace
// period includes the hook.
func (c *Container) preStop(of *v1.Container) Range {
	if of.Lifecycle == nil {
		return Range{}
	}
	return c.takes(of.Lifecycle.PreStop, c.settings.Programs.Containers[of.Name].Program.PreStopSleep,
		c.known(of, false)).most(c.grace())
}

// takes returns how long a hook takes whose command sleeps for some time, while the runtime knows a
// number of instances. Before an HTTP request without a host, the kubelet asks the runtime for the
// address of the pod (runHTTPHandler in pkg/kubelet/lifecycle/handlers.go at v1.37.0).
func (c *Container) takes(hook *v1.LifecycleHandler, sleep time.Duration, known int) (d Range) {
	switch {
	case hook == nil:
		return d
	case hook.Sleep != nil:
		return exactly(time.Duration(hook.Sleep.Seconds) * time.Second)
	case hook.HTTPGet != nil && hook.HTTPGet.Host == "":
		d = c.node.looks()
		d.Greatest += time.Duration(known-1) * c.node[containerStatus].Greatest
	}
	if asks := podutil.RequestOf(hook); asks != nil {
		d = d.plus(c.node.answers(asks))
	}
	return d.plus(exactly(sleep))
}

// known returns the greatest number of instances that the runtime has of the containers of the pod
// when a container has started. Beside the instances that run, it keeps one dead instance of each
// container (MaxPerPodContainerCount in cmd/kubelet/app/options/options.go at v1.37.0).
func (c *Container) known(of *v1.Container, first bool) int {
	all := len(c.pod.InitContainers) + len(c.pod.Containers)
	if !first {
		return 2 * all
	}
	if i := slices.IndexFunc(c.pod.Containers, func(one v1.Container) bool { return one.Name == of.Name }); i >= 0 {
		return len(c.pod.InitContainers) + i + 1
	}
	return all
}

// startsBefore and startsAfter return the containers that the sync of the first start starts before
// and after the container. An init container starts alone.
func (c *Container) startsBefore() []v1.Container { return c.pod.Containers[:max(c.place(), 0)] }
func (c *Container) startsAfter() []v1.Container {
	if c.place() < 0 {
		return nil
	}
	return c.pod.Containers[c.place()+1:]
}

// place returns the index of the container among those that are no init containers, or -1.
func (c *Container) place() int {
	return slices.IndexFunc(c.pod.Containers, func(one v1.Container) bool { return one.Name == c.spec.Name })
}

// follows reports whether init containers start in syncs before the one that starts the container.
func (c *Container) follows() bool {
	return len(c.pod.InitContainers) > 0 && c.pod.InitContainers[0].Name != c.spec.Name
}

// stops returns how long the kubelet takes to stop a container, with its preStop hook, until the
// program has exited.
func (c *Container) stops(of *v1.Container) Range {
	return c.preStop(of).plus(c.node[stopContainer], exactly(fakeruntime.SigtermExit))
}

// startsAgain returns the time from the exit of a container that a probe has stopped until its next
// instance starts, in the same sync. If the container does not start again, the sync can stop the
// pod: its sidecars, one after the other, and its sandbox.
func (c *Container) startsAgain() Range {
	starts := c.node[stopReturn].plus(c.starts())
	if c.alwaysRestarts() {
		return starts
	}
	ends := c.node.sum(stopReturn, stopPodSandbox).Greatest
	for i := range c.pod.InitContainers {
		if sidecar := &c.pod.InitContainers[i]; podutil.IsRestartableInitContainer(sidecar) {
			ends += c.stops(sidecar).plus(c.node[stopReturn]).Greatest
		}
	}
	return Range{c.node[stopReturn].Least, max(starts.Greatest, ends)}
}

// shown returns the time from a start until a sync shows it to the probes. The sync waits for a
// relist that begins after the start. At the latest, the relist before has just begun: it inspects
// the pod because of the start, and the next one finds no change. Or it has just listed the
// containers, and both inspect the pod. A kubelet with PLEGOnDemandRelist relists the pod at once
// (workerLoopIteration and reconcilePodRecord in pkg/kubelet/pleg/generic.go at v1.37.0).
//
// On a first start, the event of the sandbox has led to the sync, which waits. Otherwise, the event
// of the start leads to it, and the sync loop takes the event later if it lists what runs for its
// housekeeping.
//
// The time counts from the end of the sync that starts the instance. If this sync ends with a hook,
// a relist can have inspected the pod during the hook. The next one finds no change and only lists.
func (c *Container) shown(first bool) Range {
	lists, inspects, rest := c.node.lists().Greatest, c.inspects(first), c.restWithoutSandbox()
	after := max(lists, inspects)
	switch {
	case !first || c.follows() || !c.alone() || c.hooked():
		after = inspects + lists
	case rest > 0:
		after = max(after, rest+lists)
	}
	greatest := lists + inspects + after + c.relistsLater()
	goesOn, looks := c.rest(first), c.node.looks().Least
	least := goesOn.Least + looks
	if c.endsWithHook(first) {
		least = max(looks, goesOn.Least+c.node.lists().Least)
	}
	return Range{least, goesOn.Greatest + greatest}
}

// relistsLater returns the time from the end of a relist to the begin of the next one that shows
// what a sync has done. With PLEGOnDemandRelist, the end of the sync itself begins one.
func (c *Container) relistsLater() time.Duration {
	if c.settings.Profile.PLEGOnDemandRelist {
		return 0
	}
	return relistPeriod
}

// shownLater returns the greatest time from the start of a later instance until a sync shows it, if
// the relist before can go on for some time after the start: it has just begun and inspects the
// start, or it has just listed the container as created and inspects it. Then the event of the exit
// has led to a sync, which waits for the next relist. The sync loop takes the event later if it
// lists what runs for its housekeeping.
func (c *Container) shownLater(goesOn time.Duration) time.Duration {
	lists := c.node.lists().Greatest
	return max(lists, goesOn) + c.look() + lists + c.relistsLater()
}

// shownAgain returns the time from the start of the next instance until a sync shows it. The sync
// waits for a relist after the start.
func (c *Container) shownAgain() Range {
	shown := Range{c.shown(false).Least, c.shownLater(c.inspects(false))}
	if !c.alwaysRestarts() { // it need not start again
		shown.Least = c.node.looks().Least
	}
	if c.hooked() { // the relist before can begin after the start
		shown.Greatest = c.rest(false).Greatest + c.shownLater(c.look())
	}
	return shown
}

// look returns the longest time of a relist that finds a change of the pod after the first start.
func (c *Container) look() time.Duration { return c.node.lists().Greatest + c.inspects(false) }

// inspects returns the longest time for which a relist inspects the pod after it has listed what
// runs. Once an instance has exited, it inspects the one that runs and a dead one.
func (c *Container) inspects(first bool) time.Duration {
	instances := time.Duration(len(c.pod.Containers) + len(c.pod.InitContainers))
	if !first {
		instances *= 2
	}
	inspects := c.node[podSandboxStatus].Greatest + instances*c.node[containerStatus].Greatest
	if !c.settings.Profile.InspectUsesListing { // an inspection lists the pod again
		inspects += c.node.lists().Greatest
	}
	return inspects
}

// restWithoutSandbox returns for how long a relist can inspect the pod after a first start, if it
// has listed the container, but not its sandbox, since this was not ready yet. The relist then has
// no event: a container that has been created leads to none. It is 0 if there is no such relist.
func (c *Container) restWithoutSandbox() time.Duration {
	n := &c.node
	created := n[podSandboxStatus].Least + 2*n[imageStatus].Least + n[createContainer].Least
	if created > n[listContainers].Greatest {
		return 0
	}
	rest := c.inspects(true) - max(0, created+n[startContainer].Least-n[listContainers].Greatest)
	if c.settings.Profile.InspectUsesListing {
		rest -= n[podSandboxStatus].Greatest
	}
	return max(0, rest)
}
