package kubelet

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// manifests are the static pods whose manifests are in the directory of a node, by namespace/name.
type manifests struct {
	pods  map[string]*v1.Pod
	steps map[types.UID]int64 // steps of the records of the last changes, also of pods that are gone
}

func newManifests() manifests {
	return manifests{pods: map[string]*v1.Pod{}, steps: map[types.UID]int64{}}
}

// SetManifest writes the manifest of a static pod in place of the manifest of the same name. step
// is that of the record of the change.
func (d *Disk) SetManifest(pod *v1.Pod, step int64) {
	d.RemoveManifest(pod.Namespace, pod.Name, step)
	d.manifests.pods[podName(pod)], d.manifests.steps[pod.UID] = pod, step
}

// RemoveManifest removes the manifest of a static pod. It reports false if there is none.
func (d *Disk) RemoveManifest(namespace, name string, step int64) bool {
	pod, ok := d.manifests.pods[namespace+"/"+name]
	if ok {
		d.manifests.steps[pod.UID] = step
		delete(d.manifests.pods, namespace+"/"+name)
	}
	return ok
}

// HasManifest reports whether the directory has a manifest of a static pod.
func (d *Disk) HasManifest(namespace, name string) bool {
	return d.manifests.pods[namespace+"/"+name] != nil
}

// staticPods returns the static pods, ordered by name.
func (d *Disk) staticPods() []*v1.Pod {
	pods := make([]*v1.Pod, 0, len(d.manifests.pods))
	for _, name := range slices.Sorted(maps.Keys(d.manifests.pods)) {
		pods = append(pods, d.manifests.pods[name])
	}
	return pods
}
