package kubelet

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
	"probesim.dev/status"
)

// phaseOf returns the phase of a pod by the states of its containers. terminal says that none of them will run
// again, initialized that a regular one has been started in this sandbox (getPhase in kubelet_pods.go at
// v1.37.0).
func phaseOf(pod *v1.Pod, s *v1.PodStatus, terminal, initialized bool) v1.PodPhase {
	init := initPhase(pod, s.InitContainerStatuses)
	n := countStates(pod, s.ContainerStatuses)
	n.running, n.unknown, n.waiting = n.running+init.running, n.unknown+init.unknown, n.waiting+init.waiting
	switch {
	case init.failed:
		return v1.PodFailed
	case init.pending || init.sidecarPending && !initialized || n.waiting > 0 || n.unknown > 0 || n.running+n.stopped == 0:
		return v1.PodPending
	case n.running > 0:
		return v1.PodRunning
	case !terminal && n.stopped != n.stoppedForGood:
		return v1.PodRunning
	case n.stopped == n.succeeded:
		return v1.PodSucceeded
	}
	return v1.PodFailed
}

// states counts containers by what they do.
type states struct{ unknown, running, waiting, stopped, stoppedForGood, succeeded int }

// countStates is about regular containers.
func countStates(pod *v1.Pod, statuses []v1.ContainerStatus) states {
	var n states
	for i := range pod.Spec.Containers {
		spec := &pod.Spec.Containers[i]
		c := status.FindContainerStatus(statuses, spec.Name)
		switch {
		case c == nil:
			n.unknown++
		case c.State.Running != nil:
			n.running++
		case c.State.Terminated != nil:
			n.stop(pod, spec, c.State.Terminated)
			if c.State.Terminated.ExitCode == 0 {
				n.succeeded++
			}
		case c.State.Waiting != nil && c.LastTerminationState.Terminated != nil:
			n.stop(pod, spec, c.LastTerminationState.Terminated)
		case c.State.Waiting != nil:
			n.waiting++
		default:
			n.unknown++
		}
	}
	return n
}

func (n *states) stop(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) {
	n.stopped++
	if !restartable(pod, c, end) {
		n.stoppedForGood++
	}
}

// initStates is what the init containers have to say about the phase. What has become of a sidecar that was
// started once has no say.
type initStates struct {
	pending        bool // a regular one has not succeeded yet
	failed         bool // a regular one has failed for good
	sidecarPending bool // a sidecar has not started yet
	states              // of sidecars
}

func initPhase(pod *v1.Pod, statuses []v1.ContainerStatus) initStates {
	var n initStates
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		if c := status.FindContainerStatus(statuses, spec.Name); podutil.IsRestartableInitContainer(spec) {
			n.countSidecar(c)
		} else {
			n.countInit(pod, spec, c)
		}
	}
	return n
}

func (n *initStates) countInit(pod *v1.Pod, spec *v1.Container, c *v1.ContainerStatus) {
	var end *v1.ContainerStateTerminated
	if c != nil {
		end = c.State.Terminated
		if c.State.Waiting != nil {
			end = c.LastTerminationState.Terminated
		}
	}
	switch {
	case end == nil:
		n.pending = true
	case end.ExitCode != 0 && !restartable(pod, spec, end):
		n.failed = true
	}
}

func (n *initStates) countSidecar(c *v1.ContainerStatus) {
	switch {
	case c == nil:
		n.unknown++
	case c.State.Running != nil:
		n.running++
		n.sidecarPending = n.sidecarPending || c.Started == nil || !*c.Started
	case c.State.Terminated != nil:
	case c.State.Waiting == nil:
		n.unknown++
		n.sidecarPending = true
	case c.LastTerminationState.Terminated == nil:
		n.waiting++
		n.sidecarPending = true
	}
}
