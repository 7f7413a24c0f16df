package kubelet

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/status"
)

// The status of a pod that has exceeded its activeDeadlineSeconds (pkg/kubelet/active_deadline.go
// at v1.37.0).
const (
	deadlineExceeded        = "DeadlineExceeded"
	deadlineExceededMessage = "Pod was active on the node longer than the specified deadline"
)

// pastActiveDeadline reports whether a pod has been active for longer than its
// activeDeadlineSeconds at a wall time. The time counts from the start in the stored status, which
// has whole seconds, and continues after the pod has terminated (pastActiveDeadline in
// pkg/kubelet/active_deadline.go at v1.37.0).
func (k *Kubelet) pastActiveDeadline(pod *v1.Pod, now time.Time) bool {
	if pod.Spec.ActiveDeadlineSeconds == nil {
		return false
	}
	s, ok := k.status.GetPodStatus(pod.UID)
	if !ok {
		s = &pod.Status
	}
	return s.StartTime != nil && now.Sub(s.StartTime.Time) >= time.Duration(*pod.Spec.ActiveDeadlineSeconds)*time.Second
}

// anyPastActiveDeadline reports whether a pod is past its active deadline at a wall time.
func (k *Kubelet) anyPastActiveDeadline(now time.Time) bool {
	return slices.ContainsFunc(k.podManager.limited,
		func(uid types.UID) bool { return k.pastActiveDeadline(k.podManager.pods[uid], now) })
}

// failPastActiveDeadline sets the phase of a pod past its active deadline to Failed, unless its
// phase in the API is terminal. It records an event each time that the status is computed, and
// returns the cause of the status (generateAPIPodStatus in pkg/kubelet/kubelet_pods.go at v1.37.0).
func (k *Kubelet) failPastActiveDeadline(u podUpdate, s *v1.PodStatus) int64 {
	if !k.pastActiveDeadline(u.pod, k.now()) {
		return k.sim.Cause()
	}
	var step int64
	k.sim.WithCause(cmp.Or(k.podManager.wanted[u.pod.UID], k.sim.Cause()), func() {
		step = k.podEvent(u.pod, v1.EventTypeNormal, deadlineExceeded, deadlineExceededMessage)
	})
	s.Reason, s.Message = deadlineExceeded, deadlineExceededMessage
	if !status.IsTerminal(u.pod.Status.Phase) {
		s.Phase = v1.PodFailed
	}
	return step
}
