package drive

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// World is a node on which a scenario runs: the simulated node, or the real kubelet on a virtual
// clock. Times are virtual times since t=0 of the scenario. Methods act at the current time.
type World interface {
	ControlPlane
	// AddAdmitted creates a pod through the API that admission.Admit has returned for the profile
	// of the plan. Worlds share the pod: they do not change it.
	AddAdmitted(pod *v1.Pod, program fakeruntime.Pod) error
	// SetManifest writes the manifest of a static pod. The pod is the one that admission.Static
	// makes from the manifest. The last Step record of the pod is the cause. RemoveManifest removes
	// the manifest.
	SetManifest(pod *v1.Pod, program fakeruntime.Pod) error
	RemoveManifest(namespace, name string) error
	// DeletePod deletes a pod through the API. Nil means the grace period of the pod; 0 removes the
	// pod immediately.
	DeletePod(namespace, name string, gracePeriodSeconds *int64) error
	// KillContainer ends a container with SIGKILL, sends it SIGTERM, or removes it. It reports
	// false if there is no such container.
	KillContainer(fakeruntime.Kill) bool
	// Occur starts the clocks of the rules that wait for a moment; see fakeruntime.AtMoment.
	Occur(moment int)
	// PatchPod applies a strategic merge patch to the metadata and spec of a pod through the API.
	// The last Step record of the pod is the cause.
	PatchPod(namespace, name string, patch []byte) error
	// PatchPodStatus applies a strategic merge patch to the status of a pod, as PatchPod does.
	PatchPodStatus(namespace, name string, patch []byte) error
	// ResizePod applies a strategic merge patch to the resources of the containers of a pod, as
	// PatchPod does.
	ResizePod(namespace, name string, patch []byte) error
	// AddEphemeralContainer adds an ephemeral container to a pod through the API, as kubectl debug
	// does. The last Step record of the pod is the cause.
	AddEphemeralContainer(namespace, name string, c v1.EphemeralContainer, program fakeruntime.ContainerConfig) error
	// EvictPod makes the kubelet evict a pod, and records it. It returns an error if the kubelet
	// cannot evict the pod.
	EvictPod(namespace, name string) error
	// StopKubelet kills the kubelet, and records it. It reports false if the kubelet is already
	// stopped. StartKubelet starts the kubelet again.
	StopKubelet() bool
	StartKubelet()
	// ShutDown announces a shutdown of the node to the kubelet, and records it. It reports false if
	// the kubelet does not handle the shutdown.
	ShutDown() bool
	// PowerOff ends all containers and sandboxes, after StopKubelet. The runtime starts again at
	// the time back. The last Step record is the cause.
	PowerOff(back virtual.Time)
	// SetDelays replaces the delays of the last SetDelays. If several Delays set a delay, the last
	// one wins; a delay that none of them sets has its value from the scenario.
	SetDelays(...fakeruntime.Delays)
	// SetAPIDown starts or ends an outage of the API server for the kubelet. The methods of the
	// World still reach it.
	SetAPIDown(down bool)
	// SetRuntimeHealth changes the health of the container runtime.
	SetRuntimeHealth(fakeruntime.Health)
	// FailCalls makes calls that the kubelet begins from now on fail, and records each.
	FailCalls(fakeruntime.Fault)
	// StepClock sets the wall clock of the node forward, or back if by is negative. Virtual time,
	// timers and the clock of the API server do not change.
	StepClock(by time.Duration)
	// Record adds a record with the current time to the trace and returns its step.
	Record(trace.Record) int64
	// At schedules a call of do for the virtual time t, or for now if t has passed.
	At(t virtual.Time, do func())
	// Observe registers f, which is called for each record when it is added to the trace.
	Observe(f func(*trace.Record))
}
