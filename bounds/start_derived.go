package bounds

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// derivesStart reports whether the rules of startLimits hold for the container. A probe that belongs to the instance begins its ticks with it, so
// nothing but initialDelaySeconds decides. With MutableContainerProbes, a worker has no ticks.
func (s *Subject) derivesStart() bool {
	return !s.Profile.ContainerScopedProbes && !s.Profile.MutableContainerProbes
}

// StartLimits returns limits of Start that follow from the settings without a run. No case passes them. The greatest one is Never if the settings leave
// open whether a run ends with a stop. If exact is true, the least limit over all nodes is the returned one, or less than a microsecond greater.
func (s *Subject) StartLimits(n Nodes, which StartCase) (least, greatest time.Duration, exact bool) {
	if s.killer() == "" || !s.derivesStart() {
		return 0, Never, false
	}
	least, greatest = s.startLimits(n, which)
	exact = !s.stopsBefore(n, which)
	for _, p := range trace.ProbeTypes {
		if s.Probe(p) == nil || s.stopsWithin(p) <= LongestLimit {
			continue
		}
		greatest = Never
		exact = exact && which == AfterCrashWhileStarting // the crash can come just before the end of a start, however long this may take
	}
	if !exact {
		greatest = Never
	}
	return least, greatest, exact
}

// stopsBefore reports whether a probe can stop the instance that crashes before. It fails because of the exit until the kubelet acts on it. A crash
// while starting comes after half of the longest start, so about half of the failures are left then.
func (s *Subject) stopsBefore(n Nodes, which StartCase) bool {
	p, left := trace.Liveness, time.Duration(0)
	switch which {
	case AfterCrash:
		if s.Probe(p) == nil {
			return false
		}
		left = s.failures(p)
	case AfterCrashWhileStarting:
		p = s.killer()
		left = (s.failures(p) - 1) / 2
	default:
		return false
	}
	return left < 2 || s.failsOften(p, left, s.failsWithin(n, p))
}

// startLimits returns limits of a start, which follow from the rules of the kubelet.
//
// A probe counts once a sync has shown the start to it, and initialDelaySeconds has passed since the whole second before the start. Its first
// run that counts comes at most a period later (doProbe in pkg/kubelet/prober/worker.go at v1.37.0). For a first start, it is the next tick. If the kubelet
// carries over that the container has started, a tick of the startup probe that does not count corrects this, at the latest before the liveness probe
// has failed too often.
func (s *Subject) startLimits(n Nodes, which StartCase) (least, greatest time.Duration) {
	least, greatest = s.freshStart(n, which)
	if !s.carriesStart(n, which) {
		return least, greatest
	}
	carriedLeast, carriedGreatest := s.afterCarriedStart(n, which)
	if which == AfterCrash || s.livesBelowBackOff() { // the kubelet need not carry it over
		return min(carriedLeast, least), max(carriedGreatest, greatest)
	}
	return carriedLeast, carriedGreatest
}

// freshStart returns limits of a start if the kubelet carries over nothing.
func (s *Subject) freshStart(n Nodes, which StartCase) (least, greatest time.Duration) {
	p := s.killer()
	shown, late := s.shown(n, which == FirstInstance || which == YoungKubelet)
	delay, step, failures := s.delay(p), s.step(n, p), s.failures(p)
	least, greatest = max(shown, delay-time.Second)+(failures-1)*s.leastStep(p), max(late, delay)+failures*step
	switch {
	case which == FirstInstance:
		run := s.firstRun(n, p, s.begins(n, p))
		least, greatest = run.Min+(failures-1)*s.leastStep(p), run.Max+(failures-1)*step
	case which == AfterCrashWhileStarting: // the kubelet keeps counting failures, up to the last one before the threshold
		least = max(shown, delay-time.Second)
	case which == AfterCrash && p == trace.Liveness:
		least = s.afterFailures(n)
	}
	last := s.lastConnection(n, p)
	return least + last.Min, greatest + last.Max
}

// livesBelowBackOff reports whether the liveness probe can stop an instance before the greatest back-off since the instance before is over. The sync
// that stops the instance does not start the next one then (doBackOff in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (s *Subject) livesBelowBackOff() bool {
	p := trace.Liveness
	return s.delay(p)+(s.failures(p)-1)*s.period(p) < longestBackOff
}

// longestBackOff is the greatest back-off of a container (MaxCrashLoopBackOff in pkg/kubelet/kubelet.go at v1.37.0).
const longestBackOff = 5 * time.Minute

// begins returns the time from a tick of a probe until the first start. The ticks begin with the sync that starts the container, so the delays of
// this sync decide between which of them the start can be. After an init container, it can be at any time.
func (s *Subject) begins(n Nodes, p trace.Probe) fakeruntime.Draw {
	d := n.sum(append([]delay{runPodSandbox, podSandboxStatus, imageStatus, imageStatus}, s.starts()...)...)
	d = plus(d, s.startsOf(n, s.startsBefore()))
	if s.follows() {
		d.Max = d.Min + s.period(p)
	}
	return d
}

// firstRun returns the time from the first start until the first run of a probe that counts.
func (s *Subject) firstRun(n Nodes, p trace.Probe, begins fakeruntime.Draw) fakeruntime.Draw {
	shown, late := s.shown(n, true)
	seconds := s.delays(p)
	return fakeruntime.Draw{
		Min: nextTick(max(shown, seconds.Min), s.period(p), begins, false),
		Max: nextTick(max(late, seconds.Max), s.period(p), begins, true),
	}
}

// nextTick returns the least or the greatest time from a start to the first tick that is at least some time after it. The start comes some time
// after a tick.
func nextTick(after, period time.Duration, start fakeruntime.Draw, greatest bool) time.Duration {
	ceil := func(d time.Duration) time.Duration { return d + modulo(-d, period) }
	switch meets := ceil(start.Min+after) <= start.Max+after; {
	case meets && greatest:
		return after + period
	case meets:
		return after
	case greatest:
		return ceil(start.Min+after) - start.Min
	}
	return ceil(start.Max+after) - start.Max
}

// afterFailures returns the least limit of a start after a crash without a startup probe. After the failures before the kubelet finds the
// exit, only the next runs are left until the threshold. After further crashes, the back-off can end in any phase of the ticks.
func (s *Subject) afterFailures(n Nodes) time.Duration {
	p := trace.Liveness
	shown, _ := s.shown(n, false)
	left, within := s.failures(p)-1, s.failsWithin(n, p)
	for failed := time.Duration(1); left > 0 && s.failsOften(p, failed, within); failed++ {
		left--
	}
	return max(shown, s.delay(p)-time.Second) + left*s.leastStep(p)
}

// failsOften reports whether a probe can fail a number of times within a time because of an exit. A command cannot run in a container that has
// exited, which is no failure, so only the run that is going on at the exit fails (Probe in pkg/probe/exec/exec.go at v1.37.0).
func (s *Subject) failsOften(p trace.Probe, times, within time.Duration) bool {
	return times == 1 || s.Probe(p).Exec == nil && (times-1)*s.period(p) <= within
}

// failsWithin returns the longest time from the begin of the first run of a probe that fails because of an exit until the kubelet acts
// on the exit. A run that is going on at the exit fails too. The first relist after the exit finds it. If another sync comes during this relist,
// the kubelet acts only after the next one (podWorkerLoop in pkg/kubelet/pod_workers.go and updateCache in pkg/kubelet/pleg/generic.go at
// v1.37.0).
func (s *Subject) failsWithin(n Nodes, p trace.Probe) time.Duration {
	return s.failsUnseen(n, p) + time.Second + n.lists() + s.look(n)
}

// failsUnseen is like failsWithin, but until a relist shows the exit to the syncs.
func (s *Subject) failsUnseen(n Nodes, p trace.Probe) time.Duration {
	return s.answered(n, p) + time.Second + 2*s.look(n)
}

// carriesStart reports whether the kubelet can carry over that the container has started. It does so if it stops the instance before and
// starts the next one in one sync. It also does so after a crash, if the liveness probe fails often enough before a relist shows the exit: the sync
// for the last failure then stops the instance.
func (s *Subject) carriesStart(n Nodes, which StartCase) bool {
	if s.Profile.ChangeContainerStatusOnKubeletRestart || s.Probe(trace.Startup) == nil || s.Probe(trace.Liveness) == nil {
		return false
	}
	p := trace.Liveness
	return which == AfterLivenessKill || which == AfterCrash && s.failsOften(p, s.failures(p), s.failsUnseen(n, p))
}

// afterCarriedStart returns limits of a start if the kubelet carries over that the container has started. The first tick of the startup probe
// that sees the instance corrects this and does not count. Up to then, the liveness probe counts, so the tick comes before this probe has
// failed too often (isContainerStarted in pkg/kubelet/prober/prober_manager.go at v1.37.0).
//
// After a crash, the sync for a failure of the liveness probe starts the instance, so the next ticks of this probe come whole periods later.
func (s *Subject) afterCarriedStart(n Nodes, which StartCase) (least, greatest time.Duration) {
	shown, late := s.shown(n, false)
	p, period, failures, seconds := trace.Startup, s.period(trace.Startup), s.failures(trace.Startup), s.delays(trace.Startup)
	killed := s.killedBefore(n, shown, late, which)
	corrected := min(late+period, killed.Max+s.leastTook(trace.Liveness))
	if period < n.longestWait() { // the sync for the correction can wait for a relist, and the next tick comes before it
		corrected = late + n.longestWait()
	}
	first := max(corrected+period, nextTick(seconds.Max, period, fakeruntime.Draw{Min: -corrected, Max: -shown}, true))
	last := s.lastConnection(n, p)
	least, greatest = max(shown+period, seconds.Min)+(failures-1)*s.leastStep(p)+last.Min, first+(failures-1)*s.step(n, p)+last.Max
	after := s.delays(trace.Liveness).Min
	fails := (s.failures(trace.Liveness) - 1) * s.period(trace.Liveness)
	if max(killed.Min, max(late, after)+fails) < late+period { // between two ticks of the startup probe
		least = min(least, killed.Min+s.lastConnection(n, trace.Liveness).Min)
	}
	return least, greatest
}

// killedBefore returns the time from a start until the last run of the liveness probe that its threshold needs, if the startup probe does not correct
// that the container has started. A kill can take any time, so the start can come at any time between two ticks.
func (s *Subject) killedBefore(n Nodes, shown, late time.Duration, which StartCase) fakeruntime.Draw {
	p, period, failures, seconds := trace.Liveness, s.period(trace.Liveness), s.failures(trace.Liveness), s.delays(trace.Liveness)
	if s.leastTook(p) > period { // the runs follow each other instead of the ticks
		return fakeruntime.Draw{Min: max(shown, seconds.Min) + (failures-1)*period, Max: max(late, seconds.Max) + failures*s.step(n, p)}
	}
	begins := fakeruntime.Draw{Max: period}
	if which == AfterCrash {
		begins = s.startsAfterFailure(n)
	}
	return fakeruntime.Draw{
		Min: nextTick(max(shown, seconds.Min), period, begins, false) + (failures-1)*period,
		Max: nextTick(max(late, seconds.Max), period, begins, true) + (failures-1)*s.step(n, p),
	}
}

// startsAfterFailure returns the time from the begin of a run of the liveness probe that fails because of an exit to the start of the next
// instance in the sync for this failure. The run that goes on at the exit can begin just before.
func (s *Subject) startsAfterFailure(n Nodes) fakeruntime.Draw {
	d := n.sum(append([]delay{stopContainer, imageStatus, imageStatus}, s.starts()...)...)
	d.Min += s.leastTook(trace.Liveness)
	d.Max += s.took(n, trace.Liveness) + n.longestWait() + n.most(stopReturn)
	if c := s.container(); c.Lifecycle != nil { // the hook before the stop runs too
		d.Max += s.shutdown(horizon)
	}
	return d
}

func (s *Subject) delay(p trace.Probe) time.Duration {
	return time.Duration(s.Probe(p).InitialDelaySeconds) * time.Second
}

func (s *Subject) failures(p trace.Probe) time.Duration {
	return time.Duration(s.Probe(p).FailureThreshold)
}

// answered is the longest time that a probe takes which the program answers or refuses at once.
func (s *Subject) answered(n Nodes, p trace.Probe) time.Duration {
	return min(n.most(answerDelay(s.Probe(p))), s.timeout(p))
}

// took is the longest time that a run of a probe takes while the program refuses it.
func (s *Subject) took(n Nodes, p trace.Probe) time.Duration {
	return max(s.answered(n, p), s.leastTook(p))
}

// leastTook is a time that a run of a probe takes at least while the program refuses it.
func (s *Subject) leastTook(p trace.Probe) time.Duration {
	if s.reconnects(p) {
		return s.timeout(p)
	}
	return 0
}

// leastStep is a time from one run of a probe to the next that is never shorter while the program refuses it.
func (s *Subject) leastStep(p trace.Probe) time.Duration { return max(s.period(p), s.leastTook(p)) }

// step is the longest time from one run of a probe to the next while the program refuses it.
func (s *Subject) step(n Nodes, p trace.Probe) time.Duration {
	if s.Profile.MutableContainerProbes {
		return s.period(p) + s.took(n, p)
	}
	return max(s.period(p), s.took(n, p))
}

// shown returns the least and the greatest time from a start until a sync shows it to the probes. The sync waits for a relist that begins
// after the start. At the latest, the relist before has just begun: it inspects the pod because of the start, and the next one finds no change. Or
// it has just listed the containers, and both inspect the pod. A kubelet with PLEGOnDemandRelist relists the pod at once (workerLoopIteration
// and reconcilePodRecord in pkg/kubelet/pleg/generic.go at v1.37.0).
//
// On a first start, the event of the sandbox has led to the sync, which waits. Otherwise, the event of the start leads to it, and the sync loop takes
// the event later if it lists what runs for its housekeeping.
//
// The time counts from the end of the sync that starts the instance. If this sync ends with a hook, a relist can have inspected the pod during the hook.
// The next one finds no change and only lists.
func (s *Subject) shown(n Nodes, first bool) (least, greatest time.Duration) {
	inspects, rest := s.inspects(n, first), s.restWithoutSandbox(n)
	after := max(n.lists(), inspects)
	switch {
	case !first || s.follows() || !s.alone() || s.hooked():
		after = inspects + n.lists()
	case rest > 0:
		after = max(after, rest+n.lists())
	}
	greatest = n.lists() + inspects + after
	if !s.Profile.PLEGOnDemandRelist {
		greatest += time.Second
	}
	goesOn, look := s.rest(n, first), n.sum(looks...).Min
	least = goesOn.Min + look
	if s.endsWithHook(first) {
		least = max(look, goesOn.Min+n.sum(listPodSandbox, listContainers).Min)
	}
	return least, goesOn.Max + greatest
}

// shownLater returns the greatest time from the start of a later instance until a sync shows it, if the relist before can go on for some time after the
// start: it has just begun and inspects the start, or it has just listed the container as created and inspects it. Then the event of the exit has led
// to a sync, which waits for the next relist. The sync loop takes the event later if it lists what runs for its housekeeping.
func (s *Subject) shownLater(n Nodes, goesOn time.Duration) time.Duration {
	late := max(n.lists(), goesOn) + s.look(n) + n.lists()
	if !s.Profile.PLEGOnDemandRelist {
		late += time.Second
	}
	return late
}

// restWithoutSandbox returns for how long a relist can inspect the pod after a first start, if it has listed the container, but not its sandbox,
// since this was not ready yet. The relist then has no event: a container that has been created leads to none. It is 0 if there is no such relist.
func (s *Subject) restWithoutSandbox(n Nodes) time.Duration {
	created := n.draw(podSandboxStatus).Min + 2*n.draw(imageStatus).Min + n.draw(createContainer).Min
	if created > n.most(listContainers) {
		return 0
	}
	rest := s.inspects(n, true) - max(0, created+n.draw(startContainer).Min-n.most(listContainers))
	if s.Profile.InspectUsesListing {
		rest -= n.most(podSandboxStatus)
	}
	return max(0, rest)
}

// look returns the longest time of a relist that finds a change of the pod after the first start.
func (s *Subject) look(n Nodes) time.Duration { return n.lists() + s.inspects(n, false) }

// inspects returns the longest time for which a relist inspects the pod after it has listed what runs. Once an instance has exited, it inspects
// the one that runs and a dead one.
func (s *Subject) inspects(n Nodes, first bool) time.Duration {
	instances := time.Duration(len(s.pod.Spec.Containers) + len(s.pod.Spec.InitContainers))
	if !first {
		instances *= 2
	}
	inspects := n.most(podSandboxStatus) + instances*n.most(containerStatus)
	if !s.Profile.InspectUsesListing { // an inspection lists the pod again
		inspects += n.lists()
	}
	return inspects
}

// lists returns the longest time of a list of all that runs.
func (n Nodes) lists() time.Duration { return n.most(listPodSandbox) + n.most(listContainers) }

// draw returns the range of a delay, and most its greatest value.
func (n Nodes) draw(of delay) fakeruntime.Draw {
	if d := *of(&n.Delays); d != nil {
		return *d
	}
	defaults := fakeruntime.DefaultDelays()
	return **of(&defaults)
}

func (n Nodes) most(of delay) time.Duration { return n.draw(of).Max }

// derive extends a bound by limits that follow from the rules of the kubelet, where no run comes close to them.
func (b Bound) derive(least, greatest time.Duration) Bound {
	if least < b.Least-fine {
		b.Least, b.LeastDerived, b.leastShown = least, true, b.LeastShown()
	}
	if greatest > b.Greatest+fine {
		b.Greatest, b.GreatestDerived, b.greatestShown = greatest, true, b.GreatestShown()
	}
	return b
}
