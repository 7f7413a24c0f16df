package release

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// PodCgroup returns the cgroup configuration that a kubelet with default settings writes for a pod.
func PodCgroup(pod *v1.Pod) *cm.ResourceConfig {
	return cm.ResourceConfigForPod(pod, true, cm.QuotaPeriod, false)
}
