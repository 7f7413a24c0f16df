package kubelet

import (
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/status"
)

// configCapacity is the number of updates that can wait for the sync loop
// (pkg/kubelet/config/config.go at v1.37.0).
const configCapacity = 50

// configOp says how the desired pods have changed (PodOperation in pkg/kubelet/types/pod_update.go
// at v1.37.0).
type configOp string

const (
	configAdd       configOp = "ADD"
	configUpdated   configOp = "UPDATE"
	configDelete    configOp = "DELETE" // the pod has a deletion timestamp
	configRemove    configOp = "REMOVE" // the pod is gone from the API
	configReconcile configOp = "RECONCILE"
)

// configUpdate is a change of the desired pods (PodUpdate in pkg/kubelet/types/pod_update.go at
// v1.37.0).
type configUpdate struct {
	op   configOp
	from *source
	pods []*v1.Pod // more than one only after a list of all pods
	// cause is the step of the record of the change. It is 0 for a list, in which each pod has its
	// own cause.
	cause int64
}

// source is a source of pods: the API server, or the directory of manifests.
type source struct {
	pods  map[types.UID]*v1.Pod // the newest pods, which the sync loop may not know yet
	ready bool                  // the sync loop has handled the first list
}

// sourcesReady reports whether the sync loop has handled the first list of each source. Until then,
// the kubelet cannot know which pods are gone (AllReady in pkg/kubelet/config/sources.go at
// v1.37.0).
func (k *Kubelet) sourcesReady() bool { return k.source.ready && (k.files == nil || k.files.ready) }

// newest returns the newest version of a pod, which the sync loop may not know yet, or nil if the
// pod is gone.
func (k *Kubelet) newest(pod *v1.Pod) *v1.Pod {
	if podutil.IsStatic(pod) {
		return k.files.pods[pod.UID]
	}
	return k.source.pods[pod.UID]
}

// watchPods is the process that turns changes of the API server into updates for the sync loop
// (pkg/kubelet/config/config.go at v1.37.0).
func (k *Kubelet) watchPods(p *sim.Proc) {
	existing := k.source.pods
	p.Serve(sim.On(k.api.Watch(), func(p *sim.Proc, e apiserver.WatchEvent) {
		if e.Type == apiserver.Listed {
			k.handleList(p, k.source, e.Pods)
			return
		}
		before := existing[e.Pod.UID]
		if e.Type == apiserver.Deleted {
			delete(existing, e.Pod.UID)
			k.config.Send(p, configUpdate{configRemove, k.source, []*v1.Pod{before}, e.Cause})
			return
		}
		op, pod := merge(before, e.Pod)
		existing[pod.UID] = pod
		if op != "" {
			k.config.Send(p, configUpdate{op, k.source, []*v1.Pod{pod}, e.Cause})
		}
	}))
}

// listOrder is the order in which a list of pods sends its updates (Merge in
// pkg/kubelet/config/config.go at v1.37.0).
var listOrder = []configOp{configRemove, configAdd, configUpdated, configDelete, configReconcile}

// watchFiles is the process that turns changes of manifests into updates for the sync loop. inotify
// reports each change at once, so the check every 20 s finds nothing new. The kubelet collects the
// pods in the random order of a map (pkg/kubelet/config/file.go and file_linux.go at v1.37.0).
func (k *Kubelet) watchFiles(p *sim.Proc) {
	for {
		pods := k.disk.staticPods()
		choose.Guided(&k.sim.Asker, "static pods", pods, podName)
		choose.Shuffle(k.sim, "static pods", pods)
		k.handleList(p, k.files, pods)
		k.manifests.Recv(p)
	}
}

// ManifestsChanged tells the kubelet that a manifest of a static pod has changed.
func (k *Kubelet) ManifestsChanged() { k.manifests.TrySend(struct{}{}) }

// handleList compares a list of all pods with the known pods and sends the differences. The API
// server sends a list when the kubelet starts and when a connection is restored. Removed pods are
// in any order.
func (k *Kubelet) handleList(p *sim.Proc, from *source, pods []*v1.Pod) {
	existing := from.pods
	byOp, listed := map[configOp][]*v1.Pod{}, map[types.UID]bool{}
	for _, pod := range pods {
		listed[pod.UID] = true
		op, pod := merge(existing[pod.UID], pod)
		existing[pod.UID] = pod
		if op != "" {
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
	for _, op := range listOrder {
		if len(byOp[op]) > 0 {
			k.config.Send(p, configUpdate{op, from, byOp[op], 0})
		}
	}
	from.ready = from.ready || len(existing) == 0
}

// merge returns how a pod changed, or an empty string, and the version that the kubelet goes on
// with. If only the status changed, the operation is configReconcile. The kubelet then takes only
// the status, so a pod whose changes cancel each other while the API server is down keeps its
// generation (checkAndUpdatePod in pkg/kubelet/config/config.go at v1.37.0).
func merge(before, pod *v1.Pod) (configOp, *v1.Pod) {
	switch {
	case before == nil:
		return configAdd, pod
	case !samePodSemantics(before, pod) && pod.DeletionTimestamp != nil:
		return configDelete, pod
	case !samePodSemantics(before, pod):
		return configUpdated, pod
	}
	if pod.Generation != before.Generation {
		kept := *before
		kept.Status = pod.Status
		pod = &kept
	}
	if status.Equal(&before.Status, &pod.Status) {
		return "", pod
	}
	return configReconcile, pod
}

// samePodSemantics reports whether two versions of a pod have the same specification. A change of
// the spec changes the generation, too, except that of a static pod (podsDifferSemantically in
// pkg/kubelet/config/config.go at v1.37.0).
func samePodSemantics(a, b *v1.Pod) bool {
	return (a.Generation == b.Generation && !podutil.IsStatic(b) || apiequality.Semantic.DeepEqual(a.Spec, b.Spec)) &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		reflect.DeepEqual(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) &&
		maps.Equal(a.Labels, b.Labels) && sameAnnotations(a.Annotations, b.Annotations)
}

// localAnnotations are the annotations that the kubelet sets in its copy of a pod. It ignores the
// API's values.
var localAnnotations = []string{podutil.ConfigSource, v1.MirrorPodAnnotationKey, "kubernetes.io/config.seen"}

// sameAnnotations reports whether all other annotations are equal (isAnnotationMapEqual in
// pkg/kubelet/config/config.go at v1.37.0).
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
