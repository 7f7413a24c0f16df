package status

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// resizeConditions are the conditions of a pod about its resize; nil if it does not have them.
type resizeConditions struct{ pending, inProgress *v1.PodCondition }

// PodResizeConditions returns the conditions of a pod about its resize (GetPodResizeConditions).
func (m *Manager) PodResizeConditions(uid types.UID) []v1.PodCondition {
	var list []v1.PodCondition
	for _, c := range []*v1.PodCondition{m.resizes[uid].pending, m.resizes[uid].inProgress} {
		if c != nil {
			list = append(list, *c)
		}
	}
	return list
}

// SetPodResizePending sets the condition PodResizePending. Every reason but Infeasible becomes
// Deferred. SetPodResizePending reports whether the condition is new, or has another reason or
// generation (SetPodResizePendingCondition).
func (m *Manager) SetPodResizePending(uid types.UID, reason, message string, generation int64) bool {
	if reason != v1.PodReasonInfeasible {
		reason = v1.PodReasonDeferred
	}
	conditions, now := m.resizes[uid], metav1.NewTime(m.o.Now())
	before, after := conditions.pending, v1.PodCondition{
		Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: reason, Message: message,
		ObservedGeneration: generation,
		LastProbeTime:      now, LastTransitionTime: now,
	}
	if before != nil && before.Reason == reason {
		after.LastTransitionTime = before.LastTransitionTime
	}
	conditions.pending = &after
	m.resizes[uid] = conditions
	return before == nil || before.Reason != reason || before.ObservedGeneration != generation
}

// ClearPodResizePending removes the condition PodResizePending (ClearPodResizePendingCondition).
func (m *Manager) ClearPodResizePending(uid types.UID) {
	m.setResizes(uid, resizeConditions{inProgress: m.resizes[uid].inProgress})
}

func (m *Manager) setResizes(uid types.UID, conditions resizeConditions) {
	if conditions == (resizeConditions{}) {
		delete(m.resizes, uid)
		return
	}
	m.resizes[uid] = conditions
}

// SetPodResizeInProgress sets the condition PodResizeInProgress, with a reason and a message if an
// attempt failed. An existing condition keeps its generation, and keeps its reason and message if
// the new ones are empty. It returns the generation, and whether the condition has changed
// (SetPodResizeInProgressCondition).
func (m *Manager) SetPodResizeInProgress(uid types.UID, reason, message string, generation int64) (int64, bool) {
	before, now := m.resizes[uid].inProgress, metav1.NewTime(m.o.Now())
	after := v1.PodCondition{
		Type: v1.PodResizeInProgress, Status: v1.ConditionTrue, Reason: reason, Message: message,
		ObservedGeneration: generation,
		LastProbeTime:      now, LastTransitionTime: now,
	}
	changed := before == nil
	if before != nil {
		if reason == "" && message == "" {
			after.Reason, after.Message = before.Reason, before.Message
		}
		after.ObservedGeneration = before.ObservedGeneration
		if after.Reason == before.Reason {
			after.LastTransitionTime = before.LastTransitionTime
		}
		changed = after.Reason != before.Reason || after.Message != before.Message
	}
	m.resizes[uid] = resizeConditions{m.resizes[uid].pending, &after}
	return after.ObservedGeneration, changed
}

// ClearPodResizeInProgress removes the condition PodResizeInProgress. It returns the generation of
// the condition, and whether there was one (ClearPodResizeInProgressCondition).
func (m *Manager) ClearPodResizeInProgress(uid types.UID) (int64, bool) {
	c := m.resizes[uid].inProgress
	if c == nil {
		return 0, false
	}
	m.setResizes(uid, resizeConditions{pending: m.resizes[uid].pending})
	return c.ObservedGeneration, true
}

// BackfillPodResizeConditions takes over the conditions that the API has of pods that are new to
// the kubelet, once all of them have been added. The first sync of a pod can come before (function
// of that name).
func (m *Manager) BackfillPodResizeConditions(pods []*v1.Pod) {
	for _, pod := range pods {
		if c := FindCondition(&pod.Status, v1.PodResizePending); c != nil {
			m.ClearPodResizePending(pod.UID)
			m.SetPodResizePending(pod.UID, c.Reason, c.Message, c.ObservedGeneration)
		}
		if c := FindCondition(&pod.Status, v1.PodResizeInProgress); c != nil {
			m.ClearPodResizeInProgress(pod.UID)
			m.SetPodResizeInProgress(pod.UID, c.Reason, c.Message, c.ObservedGeneration)
		}
	}
}
