package status

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// resizeConditions are the conditions of a pod about its resize; nil if it does not have them.
type resizeConditions struct{ inProgress *v1.PodCondition }

// PodResizeConditions returns the conditions of a pod about its resize (GetPodResizeConditions).
func (m *Manager) PodResizeConditions(uid types.UID) []v1.PodCondition {
	if c := m.resizes[uid].inProgress; c != nil {
		return []v1.PodCondition{*c}
	}
	return nil
}

// SetPodResizeInProgress sets the condition PodResizeInProgress, with a reason and a message if an attempt failed. An existing
// condition keeps its generation, and keeps its reason and message if the new ones are empty. It returns the generation, and whether the
// condition has changed (SetPodResizeInProgressCondition).
func (m *Manager) SetPodResizeInProgress(uid types.UID, reason, message string, generation int64) (int64, bool) {
	before, now := m.resizes[uid].inProgress, metav1.NewTime(m.o.Now())
	after := v1.PodCondition{
		Type: v1.PodResizeInProgress, Status: v1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: generation,
		LastProbeTime: now, LastTransitionTime: now,
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
	m.resizes[uid] = resizeConditions{inProgress: &after}
	return after.ObservedGeneration, changed
}

// ClearPodResizeInProgress removes the condition PodResizeInProgress. It returns the generation of the condition, and whether there was
// one (ClearPodResizeInProgressCondition).
func (m *Manager) ClearPodResizeInProgress(uid types.UID) (int64, bool) {
	c := m.resizes[uid].inProgress
	if c == nil {
		return 0, false
	}
	delete(m.resizes, uid)
	return c.ObservedGeneration, true
}

// BackfillPodResizeConditions takes over the condition that the API has, for a kubelet that has just started (function of that name).
func (m *Manager) BackfillPodResizeConditions(pod *v1.Pod) {
	if c := FindCondition(&pod.Status, v1.PodResizeInProgress); c != nil {
		delete(m.resizes, pod.UID)
		m.SetPodResizeInProgress(pod.UID, c.Reason, c.Message, c.ObservedGeneration)
	}
}
