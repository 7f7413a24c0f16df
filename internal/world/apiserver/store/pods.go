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
