package podutil

import v1 "k8s.io/api/core/v1"

// Annotations of static pods and mirror pods (pkg/kubelet/types/pod_update.go at v1.37.0).
const (
	ConfigSource = "kubernetes.io/config.source"
	ConfigHash   = "kubernetes.io/config.hash"
	FileSource   = "file" // the value of ConfigSource in a pod from a file
)

// IsStatic reports whether the kubelet has read the pod from a file. A mirror pod has the same
// annotation, but each pod in the API has a generation, and a pod from a file has none.
func IsStatic(pod *v1.Pod) bool {
	return pod.Generation == 0 && pod.Annotations[ConfigSource] == FileSource
}

// IsMirror reports whether a pod is a mirror pod: it has the annotation, with any value
// (IsMirrorPod in pkg/kubelet/types/pod_update.go at v1.37.0).
func IsMirror(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror
}

// IsMirrorOf reports whether a mirror pod was made from a static pod of the same name
// (IsMirrorPodOf in pkg/kubelet/pod/pod_manager.go at v1.37.0).
func IsMirrorOf(mirror, static *v1.Pod) bool {
	return mirror.Namespace == static.Namespace && mirror.Name == static.Name &&
		mirror.Annotations[v1.MirrorPodAnnotationKey] == static.Annotations[ConfigHash]
}

// DelaysOf returns the UID of the pod whose delays apply to calls about a pod: that of the static
// pod for its mirror pod.
func DelaysOf(pod *v1.Pod) string {
	if hash := pod.Annotations[v1.MirrorPodAnnotationKey]; hash != "" {
		return hash
	}
	return string(pod.UID)
}
