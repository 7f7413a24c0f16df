package store

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AfterDelete returns the pod after a delete request at the wall time now, and whether the pod is
// gone. It returns the same pod if the request does not shorten a deletion in progress
// (pkg/registry/core/pod/strategy.go and apiserver's pkg/registry/rest/delete.go at v1.37.0).
func AfterDelete(pod *v1.Pod, gracePeriodSeconds *int64, now time.Time) (after *v1.Pod, gone bool) {
	if pod.DeletionTimestamp != nil {
		return shortened(pod, gracePeriodSeconds, now)
	}
	grace := graceOf(pod, gracePeriodSeconds)
	marked := *pod
	marked.Generation++
	return mark(&marked, grace, now.Add(time.Duration(grace)*time.Second))
}

// shortened applies a further request. The grace period counts from the first request; if it has
// already passed, one second is left.
func shortened(pod *v1.Pod, given *int64, now time.Time) (*v1.Pod, bool) {
	if given == nil || atLeastOne(*given) >= *pod.DeletionGracePeriodSeconds {
		return pod, false
	}
	grace := atLeastOne(*given)
	at := pod.DeletionTimestamp.Add(time.Duration(grace-*pod.DeletionGracePeriodSeconds) * time.Second)
	if at.Before(now) {
		at, grace = now, min(grace, 1)
	}
	marked := *pod
	return mark(&marked, grace, at)
}

// mark sets the deletion timestamp and the grace period, and reports whether the pod is gone.
func mark(pod *v1.Pod, grace int64, until time.Time) (*v1.Pod, bool) {
	at := metav1.NewTime(until.Truncate(time.Second))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &grace
	return pod, Gone(pod)
}

// Gone reports whether a pod leaves the API: it is deleted, has no grace period left, and no
// finalizer keeps it (updateForGracefulDeletionAndFinalizers and ShouldDeleteDuringUpdate in
// apiserver's pkg/registry/generic/registry/store.go at v1.37.0).
func Gone(pod *v1.Pod) bool {
	return pod.DeletionTimestamp != nil && *pod.DeletionGracePeriodSeconds == 0 && len(pod.Finalizers) == 0
}

// graceOf returns the grace period in seconds of a pod's first delete: 0 for a pod that has
// terminated.
func graceOf(pod *v1.Pod, given *int64) int64 {
	switch {
	case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		return 0
	case given != nil:
		return atLeastOne(*given)
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return atLeastOne(*pod.Spec.TerminationGracePeriodSeconds)
	}
	return v1.DefaultTerminationGracePeriodSeconds
}

// atLeastOne returns one second for a negative grace period.
func atLeastOne(grace int64) int64 {
	if grace < 0 {
		return 1
	}
	return grace
}
