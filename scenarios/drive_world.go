package scenarios

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// World is the environment of a run: the simulated node, or the real kubelet under virtual time. "Now" is the
// current virtual time.
type World interface {
	// AddPod passes a pod from the API server to the kubelet now.
	AddPod(pod *v1.Pod, program fakeruntime.Pod)
	// DeletePod deletes a pod through the API now. A nil grace period means the pod's own, 0 forces the deletion.
	DeletePod(namespace, name string, gracePeriodSeconds *int64)
	// KillContainer ends a container with SIGKILL now, or removes it. It reports whether the container was there.
	KillContainer(fakeruntime.Kill) bool
	// PatchPod applies a strategic merge patch to the metadata and spec of a pod through the API now. Cause is a
	// step of the trace.
	PatchPod(namespace, name string, patch []byte, cause int64)
	// PatchPodStatus applies a strategic merge patch to the status of a pod.
	PatchPodStatus(namespace, name string, patch []byte, cause int64)
	// EvictPod makes the kubelet evict a pod now and records it. It reports whether the kubelet evicts the pod.
	EvictPod(namespace, name string) bool
	// StopKubelet stops the kubelet now and records it. It reports whether the kubelet was running. StartKubelet
	// starts it again.
	StopKubelet() bool
	StartKubelet()
	// ShutDown tells the kubelet now that the node is about to shut down, and records it. It reports whether the
	// kubelet handles shutdowns.
	ShutDown() bool
	// PowerOff ends all containers and sandboxes now; call it after StopKubelet. The runtime starts again at time
	// back. Cause is a step of the trace.
	PowerOff(back time.Duration, cause int64)
	// SetDelays replaces all delays set before. Of several values for a delay the last one wins; a delay without
	// a value is as in the scenario.
	SetDelays(...fakeruntime.Delays)
	// SetAPIDown cuts the kubelet off from the API server, or reconnects it. The world still reaches the API
	// server.
	SetAPIDown(down bool)
	// SetRuntimeHealth sets the health of the container runtime.
	SetRuntimeHealth(fakeruntime.Health)
	// StepClock makes the wall clock of the node jump now. Virtual time, timers and the clock of the API server
	// are not affected.
	StepClock(by time.Duration)
	// Record adds a record with the current time to the trace and returns its step.
	Record(trace.Record) int64
	// At calls do at virtual time t, or now if t is past.
	At(t time.Duration, do func())
	// Observe calls f for each record of the trace when it is written.
	Observe(f func(*trace.Record))
}
