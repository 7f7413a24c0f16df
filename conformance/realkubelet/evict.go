package realkubelet

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"

	"probesim.dev/conformance/kubeletapi"
)

// runningKubelet is a kubelet that has been started.
type runningKubelet struct {
	*kubelet.Kubelet
	// receives the shutdown of the node; nil if the kubelet does not handle shutdowns, or after the
	// shutdown
	shutdowns chan<- bool
}

// Grace period and message of a hard eviction under memory pressure
// (pkg/kubelet/eviction/eviction_manager.go and helpers.go).
const (
	evictionGrace   = 1
	evictionMessage = "The node was low on resource: memory. "
)

// eviction returns a function that evicts the pod, or nil if the eviction manager would not choose
// the pod.
func (k *runningKubelet) eviction(uid types.UID) func() {
	active := k.GetActivePods()
	i := slices.IndexFunc(active, func(p *v1.Pod) bool { return p.UID == uid })
	if i < 0 || kubelettypes.IsCriticalPod(active[i]) {
		return nil
	}
	pod := active[i]
	manager := field(reflect.ValueOf(k.Kubelet).Elem(), "evictionManager").Elem().UnsafePointer()
	return func() {
		kubeletapi.EvictPod(manager, pod, evictionGrace, evictionMessage, &v1.PodCondition{
			Type: v1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue,
			Reason: v1.PodReasonTerminationByKubelet, Message: evictionMessage,
		})
	}
}
