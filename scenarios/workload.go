package scenarios

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/fakeruntime"
)

// workload is an entry of spec.pods with its manifest found: the pods that it brings.
type workload struct {
	spec       *Pod
	manifest   *manifest
	errs       podErrors
	pod        *v1.Pod // patched, with defaults, as replica 0
	replicas   int
	unread     bool // some of the containers or their names could not be read, as was reported
	uncounted  bool // so it was with the number of replicas
	containers map[string]fakeruntime.ContainerConfig
	delays     fakeruntime.Delays
}

// key returns namespace/name of the pod of a replica.
func (w *workload) key(replica int) string {
	return w.pod.Namespace + "/" + w.manifest.podName(replica)
}

// newPod returns the pod of a replica.
func (w *workload) newPod(replica int) *v1.Pod {
	pod := w.pod.DeepCopy()
	pod.Name = w.manifest.podName(replica)
	if w.manifest.kind.template != "" {
		pod.UID = admission.UID(pod.Namespace, pod.Name)
	}
	return pod
}

// allContainers returns the containers of the pod, init containers first.
func (w *workload) allContainers() []*v1.Container {
	var all []*v1.Container
	for _, list := range [][]v1.Container{w.pod.Spec.InitContainers, w.pod.Spec.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// container returns a container of the pod, an init container too, or nil.
func (w *workload) container(name string) *v1.Container {
	for _, c := range w.allContainers() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// parts counts a pod of the workload, its containers and their probes.
func (w *workload) parts() int {
	parts := 1 + len(w.pod.Spec.InitContainers)
	for i := range w.pod.Spec.Containers {
		parts += 1 + len(probesOf(&w.pod.Spec.Containers[i]))
	}
	return parts
}

func (w *workload) containerNames() []string {
	var names []string
	for _, c := range w.allContainers() {
		names = append(names, c.Name)
	}
	return names
}
