package kubelet

import (
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/apiserver"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/status"
)

// configCapacity is the number of updates that can wait for the sync loop (pkg/kubelet/config/config.go at
// v1.37.0).
const configCapacity = 50

// configOp says how the desired pods have changed (PodOperation in pkg/kubelet/types/pod_update.go at v1.37.0).
type configOp string

const (
	configAdd       configOp = "ADD"
	configUpdated   configOp = "UPDATE"
	configDelete    configOp = "DELETE" // the pod has a deletion timestamp
	configRemove    configOp = "REMOVE" // the pod is gone from the API
	configReconcile configOp = "RECONCILE"
)

// configUpdate is a change of the desired pods (PodUpdate in pkg/kubelet/types/pod_update.go at v1.37.0).
type configUpdate struct {
	op   configOp
	pods []*v1.Pod // more than one only after a list of all pods
	// cause is the step of the record of the change. It is 0 for a list, in which each pod has its own cause.
	cause int64
}

// watchPods is the process that turns changes of the API server into updates for the sync loop
// (pkg/kubelet/config/config.go at v1.37.0).
func (k *Kubelet) watchPods(p *sim.Proc) {
	existing := k.source
	p.Serve(sim.On(k.api.Watch(), func(p *sim.Proc, e apiserver.WatchEvent) {
		if e.Type == apiserver.Listed {
			k.handleList(p, existing, e.Pods)
			return
		}
		before := existing[e.Pod.UID]
		if e.Type == apiserver.Deleted {
			delete(existing, e.Pod.UID)
			k.config.Send(p, configUpdate{configRemove, []*v1.Pod{before}, e.Cause})
			return
		}
		existing[e.Pod.UID] = e.Pod
		if op := configOpFor(before, e.Pod); op != "" {
			k.config.Send(p, configUpdate{op, []*v1.Pod{e.Pod}, e.Cause})
		}
	}))
}

// listOrder is the order in which a list of pods sends its updates (Merge in pkg/kubelet/config/config.go at
// v1.37.0).
var listOrder = []configOp{configRemove, configAdd, configUpdated, configDelete, configReconcile}

// handleList compares a list of all pods with the known pods and sends the differences. The API server sends a list
// when the kubelet starts and when a connection is restored. Removed pods are in any order.
func (k *Kubelet) handleList(p *sim.Proc, existing map[types.UID]*v1.Pod, pods []*v1.Pod) {
	byOp, listed := map[configOp][]*v1.Pod{}, map[types.UID]bool{}
	for _, pod := range pods {
		listed[pod.UID] = true
		if op := configOpFor(existing[pod.UID], pod); op != "" {
			byOp[op] = append(byOp[op], pod)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(existing)) {
		if !listed[uid] {
			byOp[configRemove] = append(byOp[configRemove], existing[uid])
			delete(existing, uid)
		}
	}
	choose.Shuffle(k.sim, "removed pods", byOp[configRemove])
	for _, pod := range pods {
		existing[pod.UID] = pod
	}
	for _, op := range listOrder {
		if len(byOp[op]) > 0 {
			k.config.Send(p, configUpdate{op, byOp[op], 0})
		}
	}
	k.sourceReady = k.sourceReady || len(existing) == 0
}

// configOpFor returns how a pod changed, or an empty string. If only the status changed, the operation is
// configReconcile, which refreshes the kubelet's copy of the pod.
func configOpFor(before, pod *v1.Pod) configOp {
	switch {
	case before == nil:
		return configAdd
	case !samePodSemantics(before, pod) && pod.DeletionTimestamp != nil:
		return configDelete
	case !samePodSemantics(before, pod):
		return configUpdated
	case !status.Equal(&before.Status, &pod.Status):
		return configReconcile
	}
	return ""
}

// samePodSemantics reports whether two versions of a pod have the same specification. A change of the spec or a
// deletion changes the generation, and a shorter deletion changes the grace period (podsDifferSemantically in
// pkg/kubelet/config/config.go at v1.37.0).
func samePodSemantics(a, b *v1.Pod) bool {
	return a.Generation == b.Generation && reflect.DeepEqual(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) &&
		maps.Equal(a.Labels, b.Labels) && sameAnnotations(a.Annotations, b.Annotations)
}

// localAnnotations are the annotations that the kubelet sets in its copy of a pod. It ignores the API's values. The third one
// upstream marks mirror pods, which are not supported.
var localAnnotations = []string{"kubernetes.io/config.source", "kubernetes.io/config.seen"}

// sameAnnotations reports whether all other annotations are equal (isAnnotationMapEqual in pkg/kubelet/config/config.go at
// v1.37.0).
func sameAnnotations(a, b map[string]string) bool {
	without := func(m map[string]string) map[string]string {
		m = maps.Clone(m)
		for _, key := range localAnnotations {
			delete(m, key)
		}
		return m
	}
	return maps.Equal(a, b) || maps.Equal(without(a), without(b))
}
