package release

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/status"
)

type watchedStatus struct {
	status.Manager
	stored func(*v1.Pod)
}

// WatchStatus returns a status manager that calls stored before each status that a pod worker stores in m.
func WatchStatus(m status.Manager, stored func(*v1.Pod)) status.Manager {
	return watchedStatus{m, stored}
}

// SetPodStatus calls stored, and stores the status.
func (m watchedStatus) SetPodStatus(logger klog.Logger, pod *v1.Pod, s v1.PodStatus) {
	m.stored(pod)
	m.Manager.SetPodStatus(logger, pod, s)
}
