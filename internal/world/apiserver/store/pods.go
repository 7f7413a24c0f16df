package store

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod returns a stored pod, or nil.
func (s *Store) Pod(key string) *v1.Pod {
	pod, _ := s.objects[Pods][key].(*v1.Pod)
	return pod
}

// FindPod returns a stored pod, or a NotFound error.
func (s *Store) FindPod(namespace, name string) (*v1.Pod, error) {
	if pod := s.Pod(namespace + "/" + name); pod != nil {
		return pod, nil
	}
	return nil, notFound(Pods, name)
}

// NamePod gives a pod without a name the next name with its generateName, such as web-1-0.
func (s *Store) NamePod(pod *v1.Pod) {
	if pod.Name == "" && pod.GenerateName != "" {
		pod.Name = s.generate(Pods, pod.Namespace, pod.GenerateName, 0)
	}
}

// AddPod stores a new pod that admission has accepted. If its UID was generated, a later pod of the
// same name gets another one. AddPod returns an AlreadyExists error if there is a pod of that name,
// and a Conflict error if another pod has had its UID.
func (s *Store) AddPod(pod *v1.Pod, generated bool, now time.Time) (Change, error) {
	key := Key(pod)
	if s.Pod(key) != nil {
		return Change{}, apierrors.NewAlreadyExists(v1.Resource("pods"), pod.Name)
	}
	if again := s.created[key]; generated && again > 0 {
		pod.UID += types.UID(fmt.Sprintf("-%d", again))
	}
	if s.uids[pod.UID] {
		return Change{}, apierrors.NewConflict(v1.Resource("pods"), pod.Name,
			fmt.Errorf("another pod has had the UID %s", pod.UID))
	}
	s.created[key]++
	s.uids[pod.UID] = true
	begin(pod, now)
	pod.Status = v1.PodStatus{Phase: v1.PodPending}
	return s.put(Pods, pod), nil
}

// Mirrors returns the number of pods of a name that have been created, which the UID of the next
// mirror pod has.
func (s *Store) Mirrors(key string) int { return s.created[key] }

// AddMirror stores a new mirror pod with its status. There must be no pod of that name.
func (s *Store) AddMirror(mirror *v1.Pod, now time.Time) Change {
	s.created[Key(mirror)]++
	s.uids[mirror.UID] = true
	mirror.CreationTimestamp = metav1.NewTime(now.Truncate(time.Second))
	return s.put(Pods, mirror)
}

// PutPod replaces a stored pod, or removes it if that has lost its last finalizer. Nobody else may
// change the pod.
func (s *Store) PutPod(old, pod *v1.Pod) Change {
	if Gone(pod) {
		return s.remove(Pods, old, pod)
	}
	return s.put(Pods, pod)
}

// DeletePod applies a delete request with a grace period in seconds; nil means the grace period of
// the pod. It returns no change if the request does not shorten a deletion in progress.
func (s *Store) DeletePod(old *v1.Pod, gracePeriodSeconds *int64, now time.Time) Change {
	after, gone := AfterDelete(old, gracePeriodSeconds, now)
	switch {
	case gone:
		return s.remove(Pods, old, after)
	case after == old:
		return Change{}
	}
	return s.put(Pods, after)
}

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
