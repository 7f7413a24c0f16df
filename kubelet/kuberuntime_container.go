package kubelet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/prober"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// killReason is the reason in a ContainerStopping record.
type killReason string

const (
	killDeleted       killReason = "Deleted"
	killStopped       killReason = "Stopped" // the pod or its sandbox has terminated
	killLivenessProbe killReason = "LivenessProbe"
	killStartupProbe  killReason = "StartupProbe"
	killImageChanged  killReason = "ImageChanged"
	killResized       killReason = "Resized"
	killEvicted       killReason = "Evicted"
	killPostStart     killReason = "FailedPostStartHook"
	killRestartAll    killReason = "RestartAllContainers"
)

// StopReason returns the reason of a ContainerStopping record by the message of the Killing event
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.2, computePodActions and SyncPod). It is
// empty if the message names none: then the pod ends.
func StopReason(message string) string {
	says := func(words string) bool { return strings.Contains(message, " "+words) }
	switch {
	case message == killedForRestart:
		return string(killRestartAll)
	case message == string(killPostStart):
		return message
	case says("failed liveness probe"):
		return string(killLivenessProbe)
	case says("failed startup probe"):
		return string(killStartupProbe)
	case says("definition changed"):
		return string(killImageChanged)
	case says("resize requires restart"):
		return string(killResized)
	}
	return ""
}

// containerKill is a running container that must be stopped.
type containerKill struct {
	container fakeruntime.Container
	reason    killReason
	message   string
	cause     int64
}

// killForImage returns the kill of a container whose image changed. kind names the kind of
// container in the event.
func (k *Kubelet) killForImage(rc *fakeruntime.Container, kind string) containerKill {
	return containerKill{*rc, killImageChanged, kind + " " + rc.Name + " definition changed",
		k.causeOfChange(types.UID(rc.PodUID))}
}

// killForProbe returns the kill of a container whose probe failed. kind names the kind of container
// in the event.
func (k *Kubelet) killForProbe(rc *fakeruntime.Container, kind string, reason killReason) containerKill {
	probe, from := "liveness", k.results.Liveness
	if reason == killStartupProbe {
		probe, from = "startup", k.results.Startup
	}
	return containerKill{*rc, reason, kind + " " + rc.Name + " failed " + probe + " probe",
		from.Cause(containerIDPrefix + rc.ID)}
}

// startContainer pulls the image, creates the container, starts it and runs its postStart hook. It
// returns nil, or the reason why one of these failed (startContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) startContainer(p *sim.Proc, u podUpdate, c *v1.Container, s *podStatus,
	actions *podActions) *startReason {
	if failed := k.ensureImageExists(p, u, c); failed != nil {
		k.failedToStart(u, c, failed.reason)
		return failed
	}
	attempt := k.runtime.NextAttempt(string(u.pod.UID), c.Name)
	if before := s.find(c.Name); before != nil {
		attempt = before.Attempt + 1
	}
	fails := func(reason string, err error) *startReason {
		k.failedToStart(u, c, fakeruntime.Description(err))
		return &startReason{reason, fakeruntime.Description(err), 0}
	}
	if target := podutil.DebugTarget(u.pod, c.Name); target != "" && s.find(target) == nil {
		return fails("CreateContainerConfigError", errors.New("unable to find target container "+target))
	}
	// The configuration of the container needs the user of the image.
	if err := k.call(p, fakeruntime.Call{Method: fakeruntime.ImageStatus, PodUID: string(u.pod.UID),
		Image: c.Image}); err != nil {
		return fails("CreateContainerConfigError", err)
	}
	if breaksNonRoot(u.pod, c) {
		return fails("CreateContainerConfigError", fmt.Errorf("container's runAsUser breaks non-root policy "+
			"(pod: %q, container: %s)", fmt.Sprintf("%s_%s(%s)", u.pod.Name, u.pod.Namespace, u.pod.UID), c.Name))
	}
	k.setActuated(u.pod.UID, c.Name, amountsOf(&c.Resources))
	_, stopSignal := podutil.StopSignal(c)
	op := k.runtime.Call(p, fakeruntime.Call{
		Method: fakeruntime.CreateContainer, SandboxID: actions.sandboxID, PodUID: string(u.pod.UID), Name: c.Name,
		Image: c.Image, Attempt: attempt,
		StopSignal: stopSignal, Cause: p.Cause(),
	})
	if op.Err != nil {
		return fails("CreateContainerError", op.Err)
	}
	id, created, started := op.ID, "Created container: "+c.Name, "Started container "+c.Name
	if k.profile.ShortContainerEvents {
		created, started = "Container created", "Container started"
	}
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Created", created)
	if err := k.call(p, fakeruntime.Call{Method: fakeruntime.StartContainer, ContainerID: id, Cause: p.Cause()}); err !=
		nil {
		// The event contains the name instead of the ID, which makes repeated events equal
		// (recordContainerEvent).
		k.failedToStart(u, c, strings.ReplaceAll(fakeruntime.Description(err), id, c.Name))
		return &startReason{"RunContainerError", fakeruntime.Description(err), 0}
	}
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Started", started)
	k.prober.StartProbes(p, u.pod, c, actions.podIP, containerIDPrefix+id)
	return k.executePostStartHook(p, u, c, id)
}

// breaksNonRoot reports whether a container must not run as root, and is told to. Images run as
// another user (verifyRunAsNonRoot in pkg/kubelet/kuberuntime/security_context_others.go at
// v1.37.2).
func breaksNonRoot(pod *v1.Pod, c *v1.Container) bool {
	own := ptr.Deref(c.SecurityContext, v1.SecurityContext{})
	ofPod := ptr.Deref(pod.Spec.SecurityContext, v1.PodSecurityContext{})
	nonRoot, user := cmp.Or(own.RunAsNonRoot, ofPod.RunAsNonRoot), cmp.Or(own.RunAsUser, ofPod.RunAsUser)
	return ptr.Deref(nonRoot, false) && ptr.Deref(user, -1) == 0
}

// failedToStart records the event of a container that could not be started.
func (k *Kubelet) failedToStart(u podUpdate, c *v1.Container, why string) {
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeWarning, "Failed", "Error: "+why)
}

// The names of lifecycle hooks in calls to the runtime.
const (
	postStart = "postStart"
	preStop   = "preStop"
)

// postStartHookError is the waiting reason of a container whose postStart hook failed
// (pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
const postStartHookError = "PostStartHookError"

// executePostStartHook runs the postStart hook of a container that has just started. If the hook
// fails, it kills the container and returns the reason (startContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) executePostStartHook(p *sim.Proc, u podUpdate, c *v1.Container, id string) *startReason {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	var message string
	p.WithCause(k.runtime.Step(id), func() {
		message = k.runHook(p, hookRun{u.pod, c, id, postStart, c.Lifecycle.PostStart})
	})
	if message == "" {
		return nil
	}
	var step int64
	p.WithCause(k.runtime.Step(id), func() {
		step = k.event(u.pod, c.Name, v1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
	})
	k.killContainer(p, u.pod, containerKill{
		container: fakeruntime.Container{ID: id, Name: c.Name}, reason: killPostStart, message: string(killPostStart),
		cause: cmp.Or(step, p.Cause()),
	}, nil, nil)
	return &startReason{postStartHookError, message, step}
}

// executePreStopHook runs the preStop hook of a container that is about to stop, if the grace
// period is positive. It returns the whole seconds that the hook took. When the grace period ends,
// the kubelet no longer waits, and the hook continues (executePreStopHook in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) executePreStopHook(p *sim.Proc, pod *v1.Pod, kill containerKill, grace int64) int64 {
	c := podutil.Find(pod, kill.container.Name)
	if c == nil || c.Lifecycle == nil || c.Lifecycle.PreStop == nil || grace <= 0 {
		return 0
	}
	start, waiting := p.Now(), true
	k.sim.Go("preStop hook of "+podName(pod)+"/"+c.Name, func(hook *sim.Proc) {
		if k.runHook(hook, hookRun{pod, c, kill.container.ID, preStop, c.Lifecycle.PreStop}) != "" {
			k.ContainerEvent(pod, c.Name, v1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
		}
		if waiting {
			p.Interrupt()
		}
	})
	p.WakeAt(afterSeconds(start, grace))
	p.Park()
	waiting = false
	return int64(p.Now().Sub(start) / time.Second)
}

// killContainer runs the preStop hook of a container, waits for its turn in the termination order,
// stops it, and waits until its process has exited. The whole seconds of the hook and of the wait
// count toward the grace period, down to the minimum. If the container cannot be stopped, the
// containers that wait for it keep waiting (killContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) killContainer(p *sim.Proc, pod *v1.Pod, kill containerKill, override *int64,
	order *terminationOrder) error {
	defer p.SetCause(p.Cause())
	p.SetCause(kill.cause)
	k.ContainerEvent(pod, kill.container.Name, v1.EventTypeNormal, "Killing", kill.message)
	grace := terminationGracePeriod(pod, kill)
	if override != nil {
		grace = *override
	}
	id := containerIDPrefix + kill.container.ID
	k.prober.StopProbes(p, id, trace.Liveness, trace.Startup)
	grace -= k.executePreStopHook(p, pod, kill, grace)
	grace -= order.waitForTurn(p, kill.container.Name, grace)
	killer := killerOf(pod, kill.container.Name)
	k.sim.Turn(killer, "stop")
	err := k.call(p, fakeruntime.Call{
		Method: fakeruntime.StopContainer, ContainerID: kill.container.ID, GraceSeconds: max(grace, minimumGracePeriod),
		StopReason: string(kill.reason), Cause: p.Cause(),
	})
	if err == nil {
		k.sim.Turn(killer, "stopped")
		k.prober.StopProbes(p, id, trace.Liveness, trace.Readiness, trace.Startup)
		order.terminated(kill.container.Name)
	}
	return err
}

// terminationGracePeriod returns the grace period of a container in seconds. The grace period of
// the deletion comes first, then the one of the failed probe, then the pod's own
// (setTerminationGracePeriod in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func terminationGracePeriod(pod *v1.Pod, kill containerKill) int64 {
	if pod.DeletionGracePeriodSeconds != nil {
		return *pod.DeletionGracePeriodSeconds
	}
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return minimumGracePeriod
	}
	if c := podutil.Find(pod, kill.container.Name); c != nil {
		probe := map[killReason]*v1.Probe{killLivenessProbe: c.LivenessProbe,
			killStartupProbe: c.StartupProbe}[kill.reason]
		if probe != nil && probe.TerminationGracePeriodSeconds != nil {
			return *probe.TerminationGracePeriodSeconds
		}
	}
	return *pod.Spec.TerminationGracePeriodSeconds
}

// pruneInitContainers removes the exited init containers of each name, except for the newest. With
// keep 0, it removes all init containers, which must have been stopped
// (pruneInitContainersBeforeStart and purgeInitContainers in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) pruneInitContainers(p *sim.Proc, pod *v1.Pod, s *podStatus, keep int) {
	var names [][]string // IDs to remove
	for i := range pod.Spec.InitContainers {
		var ids []string
		for _, c := range s.containers {
			if c.Name == pod.Spec.InitContainers[i].Name && (c.State == fakeruntime.Exited || keep == 0) {
				ids = append(ids, c.ID)
			}
		}
		if len(ids) > keep {
			names = append(names, ids[keep:])
		}
	}
	choose.Shuffle(k.sim, "init containers to remove of pod "+podName(pod), names)
	for _, ids := range names {
		for _, id := range ids {
			k.removeContainer(p, id)
		}
	}
}

// initProgress is the progress of a pod through its init containers, which it examines from last to
// first.
type initProgress struct {
	k       *Kubelet
	pod     *v1.Pod
	actions *podActions
	start   []int // indexes of init containers to start, last first

	initialized bool // the regular containers can start
	begun       bool // a later init container or a regular container has started
}

// computeInitContainerActions decides which init containers a sync starts, and which sidecars it
// restarts. It reports whether the pod is initialized: the sync then also handles the regular
// containers (function of that name in pkg/kubelet/kuberuntime/kuberuntime_container.go at
// v1.37.0).
func (k *Kubelet) computeInitContainerActions(pod *v1.Pod, s *podStatus, actions *podActions) bool {
	if len(pod.Spec.InitContainers) == 0 {
		return true
	}
	seen, ready := s, s.hasRunningRegular(pod)
	if k.profile.InitializedBySandbox {
		seen, ready = &podStatus{containers: s.active()}, s.hasActiveRegular(pod)
	}
	p := &initProgress{k: k, pod: pod, actions: actions, initialized: ready, begun: ready}
	for i := range slices.Backward(pod.Spec.InitContainers) {
		p.decide(i, seen.find(pod.Spec.InitContainers[i].Name))
		if actions.killPod {
			return false
		}
	}
	if !p.begun {
		p.start = append(p.start, 0)
	}
	for _, i := range slices.Backward(p.start) {
		actions.startInit = append(actions.startInit, &pod.Spec.InitContainers[i])
	}
	return p.initialized
}

// decide decides about one init container. rc is nil if the current sandbox does not have it.
func (p *initProgress) decide(i int, rc *fakeruntime.Container) {
	sidecar := podutil.IsRestartableInitContainer(&p.pod.Spec.InitContainers[i])
	switch {
	case p.begun && !sidecar:
		return // the container has completed
	case rc == nil:
		if p.begun {
			p.start = append(p.start, i)
		}
		return
	case rc.State == fakeruntime.Created, rc.State == fakeruntime.Exited && sidecar:
		p.start = append(p.start, i)
	case sidecar:
		p.decideSidecar(i, rc)
	case rc.State == fakeruntime.Running:
		// the API server accepts no resize that would restart the container
		if p.k.profile.InPlacePodVerticalScalingInitContainers {
			p.k.computePodResizeAction(p.pod, &p.pod.Spec.InitContainers[i], rc, p.actions)
		}
	case rc.ExitCode == 0:
		p.succeed(i)
	case shouldContainerBeRestarted(p.pod, &p.pod.Spec.InitContainers[i], rc):
		p.start = append(p.start, i)
	default:
		p.actions.killPod = true
	}
	p.begun = true
}

// succeed starts the next container after init container i, unless a later one has already started.
func (p *initProgress) succeed(i int) {
	switch {
	case i == len(p.pod.Spec.InitContainers)-1:
		p.initialized = true
	case !p.begun:
		p.start = append(p.start, i+1)
	}
}

// decideSidecar decides about a running sidecar. Until its startup probe succeeds, the next
// container does not start and a changed image does not restart the sidecar. Its other probes block
// nothing.
func (p *initProgress) decideSidecar(i int, rc *fakeruntime.Container) {
	c, id := &p.pod.Spec.InitContainers[i], containerIDPrefix+rc.ID
	if c.StartupProbe != nil {
		r, known := p.k.results.Startup.Get(id)
		if known && r == results.Failure {
			p.restart(i, p.k.killForProbe(rc, initContainer, killStartupProbe))
		}
		if !known || r != results.Success {
			return
		}
	}
	p.succeed(i)
	if rc.Image != c.Image {
		p.restart(i, p.k.killForImage(rc, initContainer))
		return
	}
	if c.LivenessProbe != nil {
		r, known := p.k.results.Liveness.Get(id)
		if !known {
			return
		}
		if r == results.Failure {
			p.restart(i, p.k.killForProbe(rc, initContainer, killLivenessProbe))
			return
		}
	}
	if kill := p.k.computePodResizeAction(p.pod, c, rc, p.actions); kill != nil {
		p.restart(i, *kill)
	}
}

// initContainer is the name of sidecars and regular init containers in events.
const initContainer = "Init container"

func (p *initProgress) restart(i int, kill containerKill) {
	p.actions.kill = append(p.actions.kill, kill)
	p.start = append(p.start, i)
}

// RunInContainer runs the command of an exec probe (function of that name in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) RunInContainer(p *sim.Proc, c prober.Command) prober.Output {
	if k.profile.TerminationCancelsProbes && k.workers.canceled(c.PodUID) {
		return prober.Output{Err: fakeruntime.ErrCanceled}
	}
	ref, _ := (*c.Memo).(fakeruntime.Ref)
	op := k.runtime.Call(p, fakeruntime.Call{
		Method: fakeruntime.ExecSync, ContainerID: c.ContainerID[len(containerIDPrefix):], Ref: ref,
		Probe: c.Probe, Command: c.Args, Timeout: c.Timeout, Retry: c.Retry,
	})
	*c.Memo = op.Ref()
	out := prober.Output{Text: op.Output, ExitCode: op.ExitCode, TimedOut: op.TimedOut, Err: op.Err}
	k.runtime.Release(op)
	return out
}

// removeContainer removes the logs of a container, for which it asks for the status twice, and then
// the container. The node removes the logs of one container at a time (removeContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go and Clean in logs/container_log_manager.go at
// v1.37.0).
func (k *Kubelet) removeContainer(p *sim.Proc, id string) {
	status := fakeruntime.Call{Method: fakeruntime.ContainerStatus, ContainerID: id}
	k.logRemovalLock.Send(p, struct{}{})
	err := k.call(p, status)
	k.logRemovalLock.TryRecv()
	if err != nil || k.call(p, status) != nil {
		return
	}
	k.call(p, fakeruntime.Call{Method: fakeruntime.RemoveContainer, ContainerID: id})
}
