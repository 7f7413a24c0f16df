package bounds

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// derivesUnready reports whether the rules of unreadyLimits hold for the container: healthy answers come in time.
func (s *Subject) derivesUnready(n Nodes, m Misfortune) bool {
	if !s.answersInTime(n, trace.Readiness) {
		return false
	}
	if !s.fails(trace.Liveness, m) {
		return s.fails(trace.Readiness, m)
	}
	if !s.fails(trace.Readiness, m) && s.Profile.ContainerScopedProbes { // the next instance can be ready before a status shows it
		return false
	}
	return s.answersInTime(n, trace.Liveness)
}

// answersInTime reports whether each healthy answer to a probe comes before its timeout and before its next tick.
func (s *Subject) answersInTime(n Nodes, p trace.Probe) bool {
	probe := s.Probe(p)
	return n.most(answerDelay(probe)) < min(s.timeout(p), s.period(p))
}

// fails reports whether the container has a probe that a misfortune makes fail. The kernel of the node accepts connections for a program
// that stands still.
func (s *Subject) fails(p trace.Probe, m Misfortune) bool {
	probe := s.Probe(p)
	return probe != nil && (m != Stall || probe.TCPSocket == nil)
}

// unreadyLimits returns limits of the time from a misfortune of a healthy container until its status is not ready. They follow from the rules
// of the kubelet, in any order of events at one instant.
//
// The sync loop writes a failure of the readiness probe into the status, without a sync (syncLoopIteration in pkg/kubelet/kubelet.go at
// v1.37.0). If the liveness probe stops the container, the status shows it in the next sync, once a sync has stopped the container and started
// its next instance.
func (s *Subject) unreadyLimits(n Nodes, m Misfortune) (least, greatest time.Duration) {
	write := n.sum(apiGet, apiPatch)
	least, greatest = Never, Never
	last := Never // greatest time until the run of the readiness probe that reaches its threshold begins
	if s.fails(trace.Readiness, m) {
		failed := s.failure(n, m, trace.Readiness)
		least, greatest = failed.Min, failed.Max+n.lists()
		last = failed.Max - s.tookDuring(n, m, trace.Readiness).Max
	}
	if s.fails(trace.Liveness, m) {
		exit, starts, shown := s.exit(n, m), s.startsAgain(n), s.shownAgain(n)
		least = min(least, exit.Min+starts.Min+shown.Min, s.failureAfterExit(n, m, exit.Min))
		switch {
		case !s.losesFailures():
			greatest = min(greatest, s.failsByExit(n, exit, starts, shown, last))
		case exit.Min < last:
			if !s.Profile.ContainerScopedProbes { // a run that has begun before the exit fails then
				greatest = min(greatest, exit.Max+s.took(n, trace.Readiness)+n.lists())
			}
			greatest = max(greatest, last+starts.Max+shown.Max)
		}
		greatest = min(greatest, s.failure(n, m, trace.Liveness).Max+s.restartShown(n, m))
	}
	return least + write.Min, greatest + write.Max
}

// derivesStaysReady reports whether the rules of lastsAtMost hold for the container, and a search may miss the worst phase of its probes.
func (s *Subject) derivesStaysReady(n Nodes, m Misfortune) bool {
	if s.rival(trace.Readiness, m) == nil || !s.fails(trace.Readiness, m) && s.Profile.ContainerScopedProbes {
		return false
	}
	return s.answersInTime(n, trace.Readiness) && s.answersInTime(n, trace.Liveness)
}

// lastsAtMost returns the least and the greatest time that a misfortune of a healthy container may last without a change of its readiness, if
// its liveness probe can stop it before its readiness probe has failed often enough. The probe that is first decides. The phase of the one
// against the other is not taken into account.
func (s *Subject) lastsAtMost(n Nodes, m Misfortune) (least, greatest time.Duration) {
	least, greatest = Never, Never
	for _, p := range []trace.Probe{trace.Liveness, trace.Readiness} {
		if !s.fails(p, m) {
			continue
		}
		first, last := s.lastsWithout(n, m, p)
		least, greatest = min(least, first), min(greatest, last)
	}
	return least, greatest
}

// lastsWithout returns the least and the greatest time that a misfortune of a healthy container may last before a probe has failed as often as its
// threshold says.
func (s *Subject) lastsWithout(n Nodes, m Misfortune, p trace.Probe) (least, greatest time.Duration) {
	failed, took := s.failure(n, m, p), s.tookDuring(n, m, p)
	switch m {
	case Stall: // a stall that ends before the timeout can still be too long for the answer
		answer := n.draw(answerDelay(s.Probe(p)))
		took = fakeruntime.Draw{Min: answer.Max, Max: answer.Min}
	default:
		last := s.lastConnectionDuring(n, p, m)
		took.Min, took.Max = took.Min-last.Min, took.Max-last.Max
	}
	return failed.Min - took.Min, failed.Max - took.Max
}

// failure returns the time from a misfortune until a probe has failed as often as its threshold says. The first run that fails begins at the
// next tick at the latest.
func (s *Subject) failure(n Nodes, m Misfortune, p trace.Probe) fakeruntime.Draw {
	took, period := s.tookDuring(n, m, p), s.period(p)
	least, greatest := max(period, took.Min), max(period, took.Max)
	first := period - 1                   // the misfortune begins just after a run
	if s.Profile.MutableContainerProbes { // a period begins at the end of a run
		least, greatest = period+took.Min, period+took.Max
		first += n.most(answerDelay(s.Probe(p)))
	}
	later := s.failures(p) - 1
	return fakeruntime.Draw{Min: later*least + took.Min, Max: first + later*greatest + took.Max}
}

// tookDuring returns how long a run of a probe takes during a misfortune. A grpc probe connects again until its timeout
// (pkg/probe/grpc/grpc.go at v1.37.0).
func (s *Subject) tookDuring(n Nodes, m Misfortune, p trace.Probe) fakeruntime.Draw {
	probe, timeout := s.Probe(p), s.timeout(p)
	if m == Refuse && probe.GRPC == nil {
		d := n.draw(answerDelay(probe))
		return fakeruntime.Draw{Min: min(d.Min, timeout), Max: min(d.Max, timeout)}
	}
	took := fakeruntime.Exactly(timeout)
	if probe.HTTPGet != nil && probe.HTTPGet.Scheme == v1.URISchemeHTTPS {
		took.Min = min(timeout, prober.TLSHandshakeTimeout)
	}
	return took
}

// exit returns the time from a misfortune until the liveness probe has stopped the container.
func (s *Subject) exit(n Nodes, m Misfortune) fakeruntime.Draw {
	exit := plus(s.failure(n, m, trace.Liveness), s.stops(n, s.container()))
	exit.Max += n.longestWait()
	return exit
}

// stops returns how long the kubelet takes to stop a container, with its preStop hook.
func (s *Subject) stops(n Nodes, c *v1.Container) fakeruntime.Draw {
	return plus(plus(s.preStop(n, c), n.draw(stopContainer)), fakeruntime.Exactly(fakeruntime.SigtermExit))
}

// startsAgain returns the time from the exit of a container that a probe has stopped until its next instance starts, in the same sync. If the
// container does not start again, the sync can stop the pod: its sidecars, one after the other, and its sandbox.
func (s *Subject) startsAgain(n Nodes) fakeruntime.Draw {
	starts := n.sum(append([]delay{stopReturn, imageStatus, imageStatus}, s.starts()...)...)
	if s.pod.Spec.RestartPolicy == v1.RestartPolicyAlways {
		return starts
	}
	ends := n.sum(stopReturn, stopPodSandbox).Max
	for i := range s.pod.Spec.InitContainers {
		if c := &s.pod.Spec.InitContainers[i]; podutil.IsRestartableInitContainer(c) {
			ends += s.stops(n, c).Max + n.most(stopReturn)
		}
	}
	return fakeruntime.Draw{Min: n.draw(stopReturn).Min, Max: max(starts.Max, ends)}
}

// shownAgain returns the time from the start of the next instance until a sync shows it. The sync waits for a relist after the start.
func (s *Subject) shownAgain(n Nodes) (shown fakeruntime.Draw) {
	shown.Min, _ = s.shown(n, false)
	hook := s.rest(n, false)
	if s.pod.Spec.RestartPolicy != v1.RestartPolicyAlways { // it need not start again
		shown.Min = n.sum(looks...).Min
	}
	shown.Max = s.shownLater(n, s.inspects(n, false))
	if s.hooked() { // the relist before can begin after the start
		shown.Max = hook.Max + s.shownLater(n, s.look(n))
	}
	return shown
}

// restartShown returns the greatest time from the verdict of the liveness probe until a sync shows the next instance. The sync loop can take the
// verdict late, since it lists what runs for its housekeeping. Or the sync that stops the container waits for a relist. The next relists then begin a
// second after the end of the one before (podWorkerLoop in pkg/kubelet/pod_workers.go and Start in pkg/kubelet/pleg/generic.go at v1.37.0).
func (s *Subject) restartShown(n Nodes, m Misfortune) time.Duration {
	stop, starts := s.stops(n, s.container()).Max, s.startsAgain(n).Max
	// The relist before the start can have just listed the container as created, and inspects it.
	seen := starts + max(n.lists(), s.inspects(n, false))
	if s.hooked() { // the relist before can inspect the start during the hook
		starts += s.rest(n, false).Max
		seen = starts + s.look(n)
	}
	if !s.Profile.PLEGOnDemandRelist {
		seen += time.Second
	}
	atOnce := n.lists() + stop + seen + s.look(n)
	late := n.longestWait() + min(stop+seen, s.relistedBy(n, stop+starts)) + s.look(n)
	// The sync before can be that of the status that shows the container as ready, or one for another container.
	if s.failure(n, m, trace.Liveness).Min < n.longestWait() || !s.alone() {
		return max(late+n.lists(), atOnce)
	}
	return max(n.lateBy(late), atOnce)
}

// relistedBy returns the greatest time from the end of a relist until one begins that finds an instance. The instance starts after some time. The relists
// before inspect the exit of the instance before, and the container once it is created (reconcilePodRecord in pkg/kubelet/pleg/generic.go at v1.37.0).
func (s *Subject) relistedBy(n Nodes, start time.Duration) time.Duration {
	least := n.draw(listPodSandbox).Min + n.draw(listContainers).Min
	begun := (start + least) / (time.Second + least) // relists before the start
	next := begun*(time.Second+n.lists()) + time.Second
	if begun > 0 {
		next += s.inspects(n, false)
	}
	if begun > 1 {
		next += s.inspects(n, true)
	}
	if !s.Profile.PLEGOnDemandRelist {
		return next
	}
	if begun == 0 {
		return start
	}
	return max(start, next-time.Second) // the sync asks for a relist, which begins after one that has begun
}

// lateBy returns the greatest time from a sync without an event until the sync loop takes something that comes after some time. Such syncs and the
// housekeeping begin at whole seconds of the kubelet's age, or when the other one ends (syncLoopIteration in pkg/kubelet/kubelet.go at v1.37.0).
func (n Nodes) lateBy(after time.Duration) time.Duration {
	return max(after, (after+n.lists()).Truncate(time.Second)+n.lists())
}

// failsByExit returns the greatest time until a status is not ready if a container exits, and runs of the readiness probe fail at once from then on.
// They do so until the next instance starts, which has the misfortune too. A sync then shows this instance. The last run that the threshold needs
// begins after some time, and after its number of periods at most if all runs that fail are after the exit.
func (s *Subject) failsByExit(n Nodes, exit, starts, shown fakeruntime.Draw, last time.Duration) time.Duration {
	p := trace.Readiness
	refused := s.took(n, p) + n.lists()
	afterExit := exit.Max + min(starts.Max, s.failures(p)*s.period(p)) + max(refused, shown.Max)
	if last == Never {
		return afterExit
	}
	begun := last + refused
	if last > exit.Min+starts.Min {
		begun = last + max(refused, shown.Max)
	}
	return min(afterExit, max(begun, exit.Max+refused))
}

// failureAfterExit returns the least time from a misfortune until the readiness probe has failed as often as its threshold says, if the
// container exits before. The run that goes on at the exit fails at once, as later ones do, but for those of commands.
func (s *Subject) failureAfterExit(n Nodes, m Misfortune, exit time.Duration) time.Duration {
	p := trace.Readiness
	runs := (s.failures(p) - 1) * s.period(p)
	switch {
	case !s.fails(p, m): // all runs that fail are after the exit
		return exit + runs
	case s.Probe(p).Exec != nil:
		runs = (s.failures(p) - 1) * max(s.period(p), s.tookDuring(n, m, p).Min)
	}
	return max(exit, runs)
}

// losesFailures reports whether runs of the readiness probe that would fail do not count after the exit of the container: a command
// cannot run, which is no failure, and a probe that belongs to the instance ends with it.
func (s *Subject) losesFailures() bool {
	return s.Probe(trace.Readiness).Exec != nil || s.Profile.ContainerScopedProbes
}

func (s *Subject) timeout(p trace.Probe) time.Duration {
	return time.Duration(s.Probe(p).TimeoutSeconds) * time.Second
}
