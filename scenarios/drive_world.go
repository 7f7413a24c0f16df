package scenarios

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// World is what a run of a scenario acts on: the simulated node, or the real kubelet under virtual
// time. Times are virtual times since t=0 of the scenario.
type World interface {
	// AddPod has the API server hand a pod to the kubelet now.
	AddPod(pod *v1.Pod, program fakeruntime.Pod)
	// DeletePod deletes a pod through the API now, gracefully; nil takes the pod's own grace period
	// and 0 forces.
	DeletePod(namespace, name string, gracePeriodSeconds *int64)
	// KillContainer ends a container of a pod with SIGKILL now, or removes one. It reports whether there was one.
	KillContainer(fakeruntime.Kill) bool
	// PatchPod applies a strategic merge patch to a pod's metadata and spec through the API now, because of a record.
	PatchPod(namespace, name string, patch []byte, cause int64)
	// PatchPodStatus does the same with its status.
	PatchPodStatus(namespace, name string, patch []byte, cause int64)
	// EvictPod has the kubelet evict a pod now, with a record of that. It reports whether it did.
	EvictPod(namespace, name string) bool
	// StopKubelet stops the kubelet now, with a record, and reports whether it ran. StartKubelet starts it again.
	StopKubelet() bool
	StartKubelet()
	// ShutDown tells the kubelet now that its node is about to be shut down, with a record. It reports whether the kubelet
	// listens.
	ShutDown() bool
	// PowerOff ends all containers and sandboxes now, after StopKubelet, because of a record; the runtime is started
	// again at time back.
	PowerOff(back time.Duration, cause int64)
	// SetDelays has these delays hold from now on in place of all others, of several the last; what none of them
	// names is as the scenario says.
	SetDelays(...fakeruntime.Delays)
	// SetAPIDown has the kubelet reach the API server no longer from now on, or again. The world still does.
	SetAPIDown(down bool)
	// SetRuntimeHealth has the container runtime be well or not from now on.
	SetRuntimeHealth(fakeruntime.Health)
	// StepClock has the wall clock of the node jump now. Virtual time and all timers go on, and the API server's clock is
	// another.
	StepClock(by time.Duration)
	// Record adds a record about now to the trace and returns its step.
	Record(trace.Record) int64
	// At calls do when the virtual time is t, or now if that is past.
	At(t time.Duration, do func())
	// Observe calls f for each record of the trace as it is written.
	Observe(f func(*trace.Record))
}
