package scenarios

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/trace"
)

// World is what a run of a scenario acts on: the simulated node, or the real kubelet under virtual
// time. Times are virtual times since t=0 of the scenario.
type World interface {
	// AddPod has the API server hand a pod to the kubelet now.
	AddPod(pod *v1.Pod, program fakeruntime.Pod)
	// DeletePod deletes a pod through the API now, gracefully; nil takes the pod's own grace period
	// and 0 forces.
	DeletePod(namespace, name string, gracePeriodSeconds *int64)
	// At calls do when the virtual time is t, or now if that is past.
	At(t time.Duration, do func())
	// Observe calls f for each record of the trace as it is written.
	Observe(f func(*trace.Record))
}
