package kubeletapi

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/status"
)

// WatchStatus returns a status manager that calls stored before each status that a pod worker
// stores in m.
func WatchStatus(m status.Manager, stored func(*v1.Pod)) status.Manager {
	w := watchedStatus{m, stored}
	return oneOf[status.Manager](statusUntil133{w}, statusUntil135{w}, statusSince136{w})
}

type watchedStatus struct {
	status.Manager
	stored func(*v1.Pod)
}

// Status managers of the releases, which differ in SetPodStatus. It calls stored, and stores the
// status.
type (
	statusUntil133 struct{ watchedStatus }
	statusUntil135 struct{ watchedStatus }
	statusSince136 struct{ watchedStatus }
)

func (m statusUntil133) SetPodStatus(pod *v1.Pod, s v1.PodStatus) {
	m.stored(pod)
	any(m.Manager).(interface{ SetPodStatus(*v1.Pod, v1.PodStatus) }).SetPodStatus(pod, s)
}

func (m statusUntil135) SetPodStatus(logger klog.Logger, pod *v1.Pod, s v1.PodStatus) {
	m.stored(pod)
	any(m.Manager).(interface {
		SetPodStatus(klog.Logger, *v1.Pod, v1.PodStatus)
	}).SetPodStatus(logger, pod, s)
}

func (m statusSince136) SetPodStatus(logger klog.Logger, pod *v1.Pod, s v1.PodStatus) (v1.PodStatus, bool) {
	m.stored(pod)
	return any(m.Manager).(interface {
		SetPodStatus(klog.Logger, *v1.Pod, v1.PodStatus) (v1.PodStatus, bool)
	}).SetPodStatus(logger, pod, s)
}
