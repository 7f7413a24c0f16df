package kubeletapi

import (
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/kubelet/eviction" // for linkname

	"probesim.dev/conformance/kubelet/release"
)

// EvictPod runs evictPod of an eviction manager for a pod, and returns when the pod is gone
// (pkg/kubelet/eviction/eviction_manager.go).
func EvictPod(manager unsafe.Pointer, pod *v1.Pod, grace int64, message string, condition *v1.PodCondition) {
	if release.Version < "v1.35" {
		evictPodUntil134(manager, pod, grace, message, nil, condition)
	} else {
		evictPod(manager, klog.Logger{}, pod, grace, message, nil, condition)
	}
}

//go:linkname evictPod k8s.io/kubernetes/pkg/kubelet/eviction.(*managerImpl).evictPod
func evictPod(manager unsafe.Pointer, logger klog.Logger, pod *v1.Pod, gracePeriodOverride int64, message string,
	annotations map[string]string, condition *v1.PodCondition) bool

//go:linkname evictPodUntil134 k8s.io/kubernetes/pkg/kubelet/eviction.(*managerImpl).evictPod
func evictPodUntil134(manager unsafe.Pointer, pod *v1.Pod, gracePeriodOverride int64, message string,
	annotations map[string]string, condition *v1.PodCondition) bool
