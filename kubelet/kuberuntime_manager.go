package kubelet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// minimumGracePeriod is the minimum grace period of a container in seconds
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
const minimumGracePeriod = 2

// listing is the result of the two list calls of a relist.
type listing struct {
	changed    []string // UIDs of the changed pods, if the calls asked only for these
	sooner     []string // UIDs of the changed pods in the first of the two calls
	sandboxes  []fakeruntime.Sandbox
	containers []fakeruntime.Container
	timestamp  virtual.Time
}

// getPods lists sandboxes and then containers. The timestamp of the result is the time before the
// first call (getPods in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) getPods(p *sim.Proc, scope fakeruntime.Call) (listing, error) {
	l := listing{timestamp: p.Now()}
	scope.Method = fakeruntime.ListPodSandbox
	if err := l.add(k, k.runtime.Call(p, scope)); err != nil {
		return l, err
	}
	scope.Method = fakeruntime.ListContainers
	return l, l.add(k, k.runtime.Call(p, scope))
}

// add moves the result of a list call into the listing.
func (l *listing) add(k *Kubelet, op *fakeruntime.Op) error {
	if op.Call.Method == fakeruntime.ListPodSandbox {
		l.sandboxes, l.sooner = op.Sandboxes, op.Changed
	} else {
		l.containers = op.Containers
	}
	l.changed = op.Changed
	err := op.Err
	k.runtime.Release(op)
	return err
}

// listsOfPods are the calls that list pods.
var listsOfPods = []fakeruntime.Method{fakeruntime.ListPodSandbox, fakeruntime.ListContainers}

// listsEnd returns the time at which a listing of pods ends that begins at a time; see
// criClient.ListsEnd.
func (k *Kubelet) listsEnd(at virtual.Time) virtual.Time {
	return k.runtime.ListsEnd(at, listsOfPods...)
}

// listsEnds appends the times at which the calls of a listing of pods end that begins at a time;
// see Runtime.ListsEnds.
func (k *Kubelet) listsEnds(ends []virtual.Time, at virtual.Time) []virtual.Time {
	return k.runtime.ListsEnds(ends, at, listsOfPods...)
}

// pods groups the listing by pod. Pods are in the order in which they first occur. Their containers
// must not be modified: containers of a pod that follow each other are not copied.
func (l listing) pods() []*runtimePod {
	var pods []*runtimePod
	byUID := map[string]*runtimePod{}
	at := func(uid string) *runtimePod {
		r, ok := byUID[uid]
		if !ok {
			r = &runtimePod{uid: types.UID(uid), timestamp: l.timestamp}
			byUID[uid] = r
			pods = append(pods, r)
		}
		return r
	}
	for _, uid := range l.changed {
		at(uid).later = !slices.Contains(l.sooner, uid)
	}
	for _, s := range l.sandboxes {
		r := at(s.PodUID)
		r.sandboxes = append(r.sandboxes, s)
	}
	for rest := l.containers; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].PodUID == rest[0].PodUID {
			n++
		}
		r := at(rest[0].PodUID)
		if r.containers == nil {
			r.containers = rest[:n:n]
		} else {
			r.containers = append(r.containers, rest[:n]...)
		}
		rest = rest[n:]
	}
	return pods
}

// call makes a call and returns only its error.
func (k *Kubelet) call(p *sim.Proc, c fakeruntime.Call) error {
	op := k.runtime.Call(p, c)
	err := op.Err
	k.runtime.Release(op)
	return err
}

// podActions are the changes that a sync makes to the sandbox and the containers of a pod.
type podActions struct {
	killPod       bool
	createSandbox bool
	sandboxID     string
	podIP         string
	attempt       int
	ephemeral     []*v1.Container // to start
	startInit     []*v1.Container
	start         []*v1.Container
	kill          []containerKill
	resize        bool              // resources of the pod or of its containers change
	updateMemory  []containerUpdate // decreases first
	updateCPU     []containerUpdate
	reset         []fakeruntime.Container // containers to kill if they run, and to remove
}

// computePodActions decides what a sync does. In an in-place restart, a sync only removes the
// containers and the next one starts them (computePodActions in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) computePodActions(pod *v1.Pod, s *podStatus, restartAll bool) podActions {
	changed := sandboxChange(s) != ""
	switch {
	case restartAll && changed:
		return newSandbox(s)
	case restartAll:
		return podActions{sandboxID: s.sandboxes[0].ID, podIP: probeIP(pod, s.ip()),
			reset: getContainersToReset(pod, s)}
	case changed:
		return sandboxActions(pod, s)
	}
	actions := podActions{sandboxID: s.sandboxes[0].ID, podIP: probeIP(pod, s.ip()),
		ephemeral: ephemeralToStart(pod, s)}
	if !k.computeInitContainerActions(pod, s, &actions) {
		k.resizeStarting(pod, &actions)
		return actions
	}
	keep := 0
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		rc := s.find(c.Name)
		if rc == nil || rc.State != fakeruntime.Running {
			if shouldContainerBeRestarted(pod, c, rc) {
				actions.start = append(actions.start, c)
			}
			continue
		}
		kill, ok := k.shouldKill(c, rc)
		if !ok {
			if kill := k.computePodResizeAction(pod, c, rc, &actions); kill != nil {
				actions.kill, actions.start = append(actions.kill, *kill), append(actions.start, c)
				continue
			}
			keep++
			continue
		}
		// Restart rules need an exit code, and a running container has none. A changed image always
		// restarts.
		if podutil.RestartPolicyOf(&pod.Spec, c) != v1.RestartPolicyNever || kill.reason == killImageChanged {
			kill.message += ", will be restarted"
			actions.start = append(actions.start, c)
		}
		actions.kill = append(actions.kill, kill)
	}
	if keep == 0 && len(actions.start) == 0 {
		actions.killPod, actions.startInit = true, nil // sidecars alone do not keep a pod running
	}
	k.resizeStarting(pod, &actions)
	return actions
}

// ephemeralToStart returns the ephemeral containers that have never run. They start even if the pod
// is not initialized, and never restart.
func ephemeralToStart(pod *v1.Pod, s *podStatus) (start []*v1.Container) {
	for i := range pod.Spec.EphemeralContainers {
		if c := (*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon); s.find(c.Name) == nil {
			start = append(start, c)
		}
	}
	return start
}

// sandboxActions returns the actions for a pod that needs a new sandbox. All containers stop. The
// first init container starts, unless all containers have completed and need no restart.
func sandboxActions(pod *v1.Pod, s *podStatus) podActions {
	actions := newSandbox(s)
	if pod.Spec.RestartPolicy == v1.RestartPolicyNever && actions.attempt != 0 && len(s.containers) > 0 {
		actions.createSandbox = false
		return actions
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		rc := s.find(c.Name)
		succeeded := rc != nil && rc.State == fakeruntime.Exited && rc.ExitCode == 0
		if podutil.RestartPolicyOf(&pod.Spec, c) != v1.RestartPolicyOnFailure || !succeeded {
			actions.start = append(actions.start, c)
		}
	}
	actions.createSandbox = len(actions.start) > 0
	if actions.createSandbox && len(pod.Spec.InitContainers) > 0 {
		actions.startInit, actions.start = []*v1.Container{&pod.Spec.InitContainers[0]}, nil
	}
	return actions
}

// newSandbox returns the actions that stop everything and create a sandbox.
func newSandbox(s *podStatus) podActions {
	actions := podActions{killPod: true, createSandbox: true}
	if len(s.sandboxes) > 0 {
		actions.sandboxID, actions.attempt = s.sandboxes[0].ID, s.sandboxes[0].Attempt+1
	}
	return actions
}

// shouldKill reports whether a running regular container must be killed, and why: its image
// changed, or its liveness or startup probe failed, in this order.
func (k *Kubelet) shouldKill(c *v1.Container, rc *fakeruntime.Container) (containerKill, bool) {
	if rc.Image != c.Image {
		return k.killForImage(rc, "Container"), true
	}
	if r, ok := k.results.Liveness.Get(containerIDPrefix + rc.ID); ok && r == results.Failure {
		return k.killForProbe(rc, "Container", killLivenessProbe), true
	}
	if r, ok := k.results.Startup.Get(containerIDPrefix + rc.ID); ok && r == results.Failure {
		return k.killForProbe(rc, "Container", killStartupProbe), true
	}
	return containerKill{}, false
}

// shouldContainerBeRestarted reports whether a container that does not run should start; rc is nil
// if it never ran (ShouldContainerBeRestarted in pkg/kubelet/container/helpers.go at v1.37.0).
func shouldContainerBeRestarted(pod *v1.Pod, c *v1.Container, rc *fakeruntime.Container) bool {
	switch {
	case pod.DeletionTimestamp != nil:
		return false
	case rc == nil || rc.State == fakeruntime.Created:
		return true
	case rc.State == fakeruntime.Running:
		return false
	}
	return podutil.ContainerShouldRestart(c, &pod.Spec, rc.ExitCode)
}

// getContainersToReset returns the containers to remove in an in-place restart: regular containers,
// then init containers, and last those whose exit triggered the restart (getContainersToReset in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func getContainersToReset(pod *v1.Pod, s *podStatus) []fakeruntime.Container {
	var victims, sources []fakeruntime.Container
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			for _, rc := range s.containers {
				switch {
				case rc.Name != list[i].Name:
				case rc.State == fakeruntime.Exited && podutil.RestartsAllContainers(&list[i], rc.ExitCode):
					sources = append(sources, rc)
				default:
					victims = append(victims, rc)
				}
			}
		}
	}
	return append(victims, sources...)
}

// syncPodContainers carries out the actions of a sync. It uses only the status from the start of
// the sync: when it kills and restarts a container, the start does not depend on the exit (SyncPod
// in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) syncPodContainers(p *sim.Proc, u podUpdate, s *podStatus, restartAll bool) syncResult {
	actions := k.computePodActions(u.pod, s, restartAll)
	did := syncResult{
		relist: actions.killPod || actions.resize || len(actions.kill)+len(actions.reset)+len(actions.ephemeral)+
			len(actions.startInit)+len(actions.start) > 0,
		reset: len(actions.reset) > 0,
	}
	if actions.createSandbox && actions.sandboxID != "" {
		k.podEvent(u.pod, v1.EventTypeNormal, "SandboxChanged",
			"Pod sandbox changed, it will be killed and re-created.")
	}
	if actions.killPod {
		var err error
		p.WithCause(causeOfPodKill(actions, p.Cause()), func() { err = k.killPod(p, u, s.running(), nil) })
		if err != nil {
			return syncResult{err: true}
		}
		if actions.createSandbox {
			k.pruneInitContainers(p, u.pod, s, 0)
		}
	} else {
		choose.Shuffle(k.sim, "containers to kill of pod "+podName(u.pod), actions.kill)
		if !k.killUnwanted(p, u.pod, actions.kill) {
			return syncResult{err: true}
		}
		if !k.resetContainers(p, u, actions.reset) {
			return syncResult{err: true}
		}
	}
	k.pruneInitContainers(p, u.pod, s, containersToKeep)
	if actions.createSandbox {
		actions.sandboxID, actions.podIP = k.createSandbox(p, u, actions, &did)
	}
	if actions.sandboxID != "" {
		if k.profile.ResizesWithStarts {
			k.doPodResizeAction(p, u.pod, &actions, &did)
		}
		k.startContainers(p, u, s, actions, &did)
	}
	if did.err {
		did.relist = false
	}
	return did
}

// killUnwanted kills containers of a pod that goes on, and reports whether it succeeded. Up to 1.37
// it kills one after the other, and stops at the first that it cannot kill (SyncPod in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0 and v1.38.0-beta.0).
func (k *Kubelet) killUnwanted(p *sim.Proc, pod *v1.Pod, kills []containerKill) bool {
	if k.profile.KillsAtOnce {
		return len(k.killContainers(p, pod, kills, nil, nil)) == 0
	}
	for _, kill := range kills {
		if k.killContainer(p, pod, kill, nil, nil) != nil {
			return false
		}
	}
	return true
}

// resetContainers kills the running containers without a preStop hook and with the minimum grace
// period, and removes all containers except for their logs. It reports whether it succeeded
// (SyncPod in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) resetContainers(p *sim.Proc, u podUpdate, containers []fakeruntime.Container) bool {
	for _, c := range containers {
		if c.State != fakeruntime.Exited {
			kill := containerKill{container: c, reason: killRestartAll, message: killedForRestart, cause: p.Cause()}
			if k.killContainer(p, u.pod, kill, new(int64(0)), nil) != nil {
				return false
			}
		}
		if k.call(p, fakeruntime.Call{Method: fakeruntime.RemoveContainer, ContainerID: c.ID, KeepLogs: true}) != nil {
			return false
		}
	}
	return true
}

// startContainers starts ephemeral containers, then init containers and then regular ones, one
// after the other. If a regular init container cannot be started, it stops there. A sidecar that
// cannot be started does not block the others. Older kubelets resize the pod in between.
func (k *Kubelet) startContainers(p *sim.Proc, u podUpdate, s *podStatus, actions podActions, did *syncResult) {
	for _, c := range actions.ephemeral {
		k.startOrBackOff(p, u, c, s, &actions, did)
	}
	for _, c := range actions.startInit {
		if !k.startOrBackOff(p, u, c, s, &actions, did) && !podutil.IsRestartableInitContainer(c) {
			return
		}
	}
	if !k.profile.ResizesWithStarts {
		k.doPodResizeAction(p, u.pod, &actions, did)
	}
	for _, c := range actions.start {
		k.startOrBackOff(p, u, c, s, &actions, did)
	}
}

// crashLoopBackOff is the reason of a container that waits for its back-off to end.
const crashLoopBackOff = "CrashLoopBackOff"

// startOrBackOff starts a container, unless the container is in its crash-loop back-off, and
// reports whether it did. The back-off counts from the exit of the newest instance that had exited
// when the sync began, in wall-clock time. An instance that was still running then does not count
// (doBackOff in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) startOrBackOff(p *sim.Proc, u podUpdate, c *v1.Container, s *podStatus, actions *podActions,
	did *syncResult) bool {
	key := containerKey{u.pod.UID, c.Name}
	defer p.SetCause(p.Cause())
	p.SetCause(k.causeOfStart(u, c, s))
	if exited := newestExitedContainer(s, c.Name); exited != nil {
		item, finished := backOffKey(u.pod, c), k.wall(exited.FinishedAt)
		if k.backOff.isInBackOffSince(item, finished, k.now()) {
			delay := k.backOff.get(item)
			step := k.event(u.pod, c.Name, v1.EventTypeWarning, "BackOff",
				fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.Name, formatPod(u.pod)))
			k.note(trace.Record{Kind: trace.BackOff, Cause: step, Pod: podName(u.pod), Container: c.Name,
				Instance: exited.Instance, Took: delay})
			k.reasons[key] = startReason{crashLoopBackOff, backOffMessage(u.pod, c, delay), step}
			did.err = true
			if expires := exited.FinishedAt.Add(delay); did.expires == nil || expires < *did.expires {
				did.expires = &expires
			}
			return false
		}
		k.backOff.next(item, finished, k.now(), k.sim.Now())
	}
	if failed := k.startContainer(p, u, c, s, actions); failed != nil {
		k.reasons[key], did.err = *failed, true
		return false
	}
	delete(k.reasons, key)
	return true
}

// backOffKey returns the key of a container's back-off: other images and other resources have a
// back-off of their own (GetBackoffKey in pkg/kubelet/kuberuntime/helpers.go at v1.37.0).
func backOffKey(pod *v1.Pod, c *v1.Container) string {
	key := string(pod.UID) + "/" + c.Name + "/" + c.Image
	if own := amountsOf(&c.Resources); own != (amounts{}) {
		key += fmt.Sprint("/", own)
	}
	return key
}

// newestExitedContainer returns the newest exited instance of a container, or nil.
func newestExitedContainer(s *podStatus, name string) *fakeruntime.Container {
	for i := range s.containers {
		if s.containers[i].Name == name && s.containers[i].State == fakeruntime.Exited {
			return &s.containers[i]
		}
	}
	return nil
}

// backOffMessage says that a container is in its back-off.
func backOffMessage(pod *v1.Pod, c *v1.Container, backOff fmt.Stringer) string {
	return fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", backOff, c.Name, formatPod(pod))
}

// killPod stops all running containers in parallel, except for sidecars, which stop in their order.
// It waits for all of them and then stops the sandboxes, even if containers could not be stopped
// (killPodWithSyncResult in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) killPod(p *sim.Proc, u podUpdate, running runtimePod, grace *int64) error {
	var kills []containerKill
	for _, c := range running.containers {
		kills = append(kills, containerKill{container: c, reason: k.killReasonOf(u.pod),
			message: "Stopping container " + c.Name, cause: p.Cause()})
	}
	failed := k.killContainers(p, u.pod, kills, grace, newTerminationOrder(u.pod, running.containers))
	var notStopped error
	for _, s := range running.sandboxes {
		if err := k.call(p, fakeruntime.Call{Method: fakeruntime.StopPodSandbox, SandboxID: s.ID,
			Cause: p.Cause()}); err != nil {
			notStopped = syncResultError("KillPodSandbox", string(u.pod.UID), "KillPodSandboxError", err)
		}
	}
	if notStopped != nil {
		failed = append(failed, notStopped)
	}
	return utilerrors.NewAggregate(failed)
}

// killContainers kills containers at the same time, and waits until all have stopped. It returns
// the errors of those that it could not kill (killContainersWithSyncResult in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) killContainers(p *sim.Proc, pod *v1.Pod, kills []containerKill, grace *int64,
	order *terminationOrder) []error {
	var failed []error
	waiting := len(kills)
	for _, kill := range kills {
		name := kill.container.Name
		k.sim.Go(killerOf(pod, name), func(killer *sim.Proc) {
			if err := k.killContainer(killer, pod, kill, grace, order); err != nil {
				failed = append(failed, syncResultError("KillContainer", name, "KillContainerError", err))
			}
			if waiting--; waiting == 0 {
				p.Wake()
			}
		})
	}
	if waiting > 0 {
		p.Park()
	}
	return failed
}

// killerOf returns the name of the process that stops a container beside others.
func killerOf(pod *v1.Pod, container string) string {
	return "killer of " + podName(pod) + "/" + container
}

// syncResultError formats the error of an action (Error of PodSyncResult in
// pkg/kubelet/container/sync_result.go at v1.37.0).
func syncResultError(action, target, reason string, err error) error {
	return fmt.Errorf("failed to %q for %q with %s: %q", action, target, reason, err.Error())
}

// killReasonOf returns the reason why a pod's containers are stopped. A pod that was deleted after
// its sync began counts as deleted.
func (k *Kubelet) killReasonOf(pod *v1.Pod) killReason {
	if now := k.newest(pod); now == nil || now.DeletionTimestamp != nil {
		return killDeleted
	}
	if w, ok := k.workers.workers[pod.UID]; ok && w.evictedToo {
		return killEvicted
	}
	return killStopped
}

// getPodStatus asks for the status of each listed sandbox and then of each listed container. It
// leaves out those that were removed after the list (GetPodStatus in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) getPodStatus(p *sim.Proc, pod *runtimePod) *podStatus {
	s := &podStatus{timestamp: pod.timestamp}
	return s.unless(k.getSandboxStatuses(p, s, pod.sandboxes),
		func() error { return k.getPodContainerStatuses(p, s, pod.containers) })
}

// unless calls second if err is nil. It returns the status if both succeed, otherwise a status with
// only the error.
func (s *podStatus) unless(err error, second func() error) *podStatus {
	if err == nil {
		err = second()
	}
	if err != nil {
		return &podStatus{timestamp: s.timestamp, err: err}
	}
	return s
}

// listAndInspect lists the sandboxes of a pod and asks for the status of each, and then does the
// same with the containers. Up to 1.35 all inspections work like this. The current sandbox is the
// one created last; from 1.35 on it is the one with the highest attempt (GetPodStatus in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go, podSandboxByCreated in helpers.go and updateCache
// in pkg/kubelet/pleg/generic.go at v1.34.4).
func (k *Kubelet) listAndInspect(p *sim.Proc, uid types.UID) *podStatus {
	s := &podStatus{timestamp: p.Now()}
	scope := fakeruntime.Call{Method: fakeruntime.ListPodSandbox, PodUID: string(uid)}
	l := listing{}
	err := l.add(k, k.runtime.Call(p, scope))
	if err == nil {
		newer := newerSandbox
		if k.profile.SandboxesByAttempt {
			newer = func(a, b fakeruntime.Sandbox) int { return cmp.Compare(b.Attempt, a.Attempt) }
		}
		err = k.getSandboxStatuses(p, s, slices.SortedStableFunc(slices.Values(l.sandboxes), newer))
	}
	return s.unless(err, func() error {
		scope.Method = fakeruntime.ListContainers
		if err := l.add(k, k.runtime.Call(p, scope)); err != nil {
			return err
		}
		return k.getPodContainerStatuses(p, s, l.containers)
	})
}

func (k *Kubelet) getSandboxStatuses(p *sim.Proc, s *podStatus, sandboxes []fakeruntime.Sandbox) error {
	for i, sandbox := range sandboxes {
		op := k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.PodSandboxStatus, SandboxID: sandbox.ID})
		found, err := op.Sandboxes, op.Err
		k.runtime.Release(op)
		if fakeruntime.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		s.sandboxes = append(s.sandboxes, found...)
		if found := found[0]; i == 0 && found.Ready && found.IP != "" {
			s.ips = []string{found.IP}
		}
	}
	return nil
}

func (k *Kubelet) getPodContainerStatuses(p *sim.Proc, s *podStatus, containers []fakeruntime.Container) error {
	for _, c := range containers {
		op := k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.ContainerStatus, ContainerID: c.ID})
		found, err := op.Containers, op.Err
		k.runtime.Release(op)
		if err != nil && !fakeruntime.IsNotFound(err) {
			return err
		}
		s.containers = append(s.containers, found...)
		for range found {
			s.resources = append(s.resources, k.knownResources(c.PodUID, c.Name))
		}
	}
	return nil
}

// getPodStatusNow lists and inspects a pod.
func (k *Kubelet) getPodStatusNow(p *sim.Proc, uid types.UID) *podStatus {
	if !k.profile.InspectUsesListing {
		return k.listAndInspect(p, uid)
	}
	pod, err := k.getPod(p, uid)
	switch {
	case errors.Is(err, errPodNotFound):
		return &podStatus{}
	case err != nil:
		return &podStatus{err: err}
	}
	return k.getPodStatus(p, pod)
}

// errPodNotFound is the error about a pod that the runtime does not have (ErrPodNotFound in
// pkg/kubelet/container/runtime.go at v1.37.0).
var errPodNotFound = errors.New("pod sandboxes not found")

// getPod lists a pod (GetPod in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) getPod(p *sim.Proc, uid types.UID) (*runtimePod, error) {
	l, err := k.getPods(p, fakeruntime.Call{PodUID: string(uid)})
	if err != nil {
		return nil, err
	}
	pods := l.pods()
	if len(pods) == 0 {
		return nil, errPodNotFound
	}
	return pods[0], nil
}
