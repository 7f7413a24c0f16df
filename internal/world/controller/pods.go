package controller

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/lists"
)

// ReadyCondition returns the condition Ready of a pod, or nil.
func ReadyCondition(pod *v1.Pod) *v1.PodCondition {
	return lists.Find(pod.Status.Conditions, func(x *v1.PodCondition) bool { return x.Type == v1.PodReady })
}

// IsPodReady reports whether a pod is Ready.
func IsPodReady(pod *v1.Pod) bool {
	c := ReadyCondition(pod)
	return c != nil && c.Status == v1.ConditionTrue
}

// IsPodAvailable reports whether a pod has been Ready for minReadySeconds. The condition has whole
// seconds, so a pod counts up to a second early (IsPodAvailable in pkg/api/v1/pod/util.go at
// v1.37.0; v1.33 compares with Before, which differs at one instant only).
func IsPodAvailable(pod *v1.Pod, minReadySeconds int32, now time.Time) bool {
	if !IsPodReady(pod) {
		return false
	}
	since := ReadyCondition(pod).LastTransitionTime
	return minReadySeconds == 0 || !since.IsZero() && !since.Add(seconds(minReadySeconds)).After(now)
}

// NextAvailability returns how long it takes until the first of the pods becomes available, and
// false if none will by time alone (FindMinNextPodAvailabilityCheck in
// pkg/controller/controller_utils.go at v1.37.0). status is when the controller computed the
// status: a pod that has become available since needs a look at once.
func NextAvailability(pods []*v1.Pod, minReadySeconds int32, status, now time.Time) (time.Duration, bool) {
	var first time.Time
	for _, pod := range pods {
		if !IsPodReady(pod) || minReadySeconds <= 0 || ReadyCondition(pod).LastTransitionTime.IsZero() {
			continue
		}
		if at := ReadyCondition(pod).LastTransitionTime.Add(seconds(minReadySeconds)); at.After(status) &&
			(first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return max(0, first.Sub(now)), !first.IsZero()
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// IsPodActive reports whether a pod runs or will run: it has not ended, and nobody has deleted it
// (IsPodActive in pkg/controller/controller_utils.go at v1.37.0).
func IsPodActive(pod *v1.Pod) bool { return !IsPodTerminal(pod) && pod.DeletionTimestamp == nil }

// IsPodTerminal reports whether all containers of a pod have ended for good.
func IsPodTerminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// OwnedBy reports whether the controller of an object is the one with a UID.
func OwnedBy(o metav1.Object, uid types.UID) bool {
	owner := metav1.GetControllerOfNoCopy(o)
	return owner != nil && owner.UID == uid
}

// HasLabels reports whether an object has all of some labels with their values.
func HasLabels(o metav1.Object, wanted map[string]string) bool {
	has := o.GetLabels()
	for name, value := range wanted {
		if got, ok := has[name]; !ok || got != value {
			return false
		}
	}
	return true
}
