package kubelet

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/status"
)

// What a pod is ended with that has run longer than its activeDeadlineSeconds (pkg/kubelet/active_deadline.go at v1.37.0).
const (
	deadlineExceeded        = "DeadlineExceeded"
	deadlineExceededMessage = "Pod was active on the node longer than the specified deadline"
)

// pastActiveDeadline reports whether a pod has been active for longer than it may be, from its start as the kubelet has it,
// which is cut to the second, and whatever it has come to since.
func (k *Kubelet) pastActiveDeadline(pod *v1.Pod) bool {
	if pod.Spec.ActiveDeadlineSeconds == nil {
		return false
	}
	s, ok := k.status.GetPodStatus(pod.UID)
	if !ok {
		s = &pod.Status
	}
	return s.StartTime != nil && k.now().Sub(s.StartTime.Time) >= time.Duration(*pod.Spec.ActiveDeadlineSeconds)*time.Second
}

// anyPastActiveDeadline reports whether a pod is past its deadline.
func (k *Kubelet) anyPastActiveDeadline() bool {
	return slices.ContainsFunc(k.podManager.limited, func(uid types.UID) bool { return k.pastActiveDeadline(k.podManager.pods[uid]) })
}

// failPastActiveDeadline has a pod past its deadline fail, with an event at each time that its status is computed. One that the
// API shows in a terminal phase stays in that. It returns what the status comes from then (generateAPIPodStatus in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) failPastActiveDeadline(u podUpdate, s *v1.PodStatus) int64 {
	if !k.pastActiveDeadline(u.pod) {
		return u.cause
	}
	step := k.podEvent(u.pod, v1.EventTypeNormal, deadlineExceeded, deadlineExceededMessage, cmp.Or(k.podManager.wanted[u.pod.UID], u.cause))
	s.Reason, s.Message = deadlineExceeded, deadlineExceededMessage
	if !status.IsTerminal(u.pod.Status.Phase) {
		s.Phase = v1.PodFailed
	}
	return step
}
