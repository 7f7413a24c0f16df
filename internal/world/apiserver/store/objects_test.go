package store_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/world/apiserver/store"
)

var now = time.Date(2000, 1, 1, 0, 0, 0, 5e8, time.UTC)

func created(t *testing.T, s *store.Store, kind store.Kind, o store.Object) store.Object {
	t.Helper()
	c, err := s.Create(kind, o, now)
	if err != nil {
		t.Fatal(err)
	}
	return c.New
}

func web() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web",
		Labels: map[string]string{"a": "b"}}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)}}
}

// A write of the status of a Deployment changes its status and its annotations, and neither its
// spec nor its labels. Changes of the spec and of annotations count as generations, and those of
// the status do not.
func TestDeploymentWrites(t *testing.T) {
	s := store.New()
	d := created(t, s, store.Deployments, web()).(*appsv1.Deployment)
	if d.Generation != 1 || d.UID == "" || d.ResourceVersion != "1" || d.CreationTimestamp.Nanosecond() != 0 {
		t.Errorf("created as %+v", d.ObjectMeta)
	}
	status := d.DeepCopy()
	status.Spec.Replicas, status.Labels, status.Annotations, status.Status.Replicas = ptr.To[int32](5), nil,
		map[string]string{"revision": "1"}, 2
	status.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Available", LastUpdateTime: metav1.NewTime(now)}}
	c, err := s.UpdateStatus(store.Deployments, status)
	if err != nil {
		t.Fatal(err)
	}
	d = c.New.(*appsv1.Deployment)
	if *d.Spec.Replicas != 3 || d.Labels["a"] != "b" || d.Annotations["revision"] != "1" || d.Status.Replicas != 2 ||
		d.Generation != 1 {
		t.Errorf("after a write of the status: %+v", d)
	}
	if d.Status.Conditions[0].LastUpdateTime.Nanosecond() != 0 {
		t.Error("a condition has a fraction of a second")
	}
	spec := d.DeepCopy()
	spec.Spec.Replicas, spec.Status.Replicas = ptr.To[int32](5), 9
	c, err = s.Update(store.Deployments, spec)
	if d = c.New.(*appsv1.Deployment); err != nil || *d.Spec.Replicas != 5 || d.Status.Replicas != 2 ||
		d.Generation != 2 {
		t.Errorf("after a write of the spec: %+v, error %v", d, err)
	}
	noted := d.DeepCopy()
	noted.Annotations["note"] = "a"
	if c, err = s.Update(store.Deployments, noted); err != nil || c.New.GetGeneration() != 3 {
		t.Errorf("after a write of an annotation: generation %d, error %v", c.New.GetGeneration(), err)
	}
}

// A write that changes nothing has no change and no new version. A write with an old version is a
// conflict.
func TestVersions(t *testing.T) {
	s := store.New()
	d := created(t, s, store.Deployments, web()).(*appsv1.Deployment)
	if c, err := s.Update(store.Deployments, d.DeepCopy()); err != nil || c.Type != "" || s.Version() != 1 {
		t.Errorf("the same again: %+v, error %v, version %d", c, err, s.Version())
	}
	changed := d.DeepCopy()
	changed.Spec.Paused = true
	if c, err := s.Update(store.Deployments, changed); err != nil || c.Version != 2 || c.Old != d {
		t.Errorf("another spec: %+v, error %v", c, err)
	}
	if _, err := s.Update(store.Deployments, changed); !apierrors.IsConflict(err) {
		t.Errorf("an old version: error %v", err)
	}
	changed.ResourceVersion = ""
	changed.Spec.Paused = false
	if _, err := s.Update(store.Deployments, changed); err != nil {
		t.Errorf("without a version: %v", err)
	}
	if _, err := s.Delete(store.Deployments, "ns", "db"); !apierrors.IsNotFound(err) {
		t.Errorf("an unknown object: error %v", err)
	}
}

// ReplicaSets of a Deployment have its name and a number. A second one for the same hash exists
// already, until the first one is gone.
func TestReplicaSetNames(t *testing.T) {
	s := store.New()
	d := created(t, s, store.Deployments, web()).(*appsv1.Deployment)
	owned := func(hash string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web-" + hash,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d,
				appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		}}
	}
	for i, hash := range []string{"6f", "77"} {
		if rs := created(t, s, store.ReplicaSets, owned(hash)); rs.GetName() != []string{"web-1", "web-2"}[i] {
			t.Errorf("the ReplicaSet for %s has the name %s", hash, rs.GetName())
		}
	}
	if _, err := s.Create(store.ReplicaSets, owned("6f"), now); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second ReplicaSet for a hash: error %v", err)
	}
	if _, err := s.Delete(store.ReplicaSets, "ns", "web-1"); err != nil {
		t.Fatal(err)
	}
	if rs := created(t, s, store.ReplicaSets, owned("6f")); rs.GetName() != "web-3" {
		t.Errorf("a ReplicaSet for the hash of one that is gone has the name %s", rs.GetName())
	}
}

// Generated names of pods end with ordinals that are used once.
func TestPodNames(t *testing.T) {
	s := store.New()
	for _, want := range []string{"web-1-0", "web-1-1"} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", GenerateName: "web-1-"}}
		s.NamePod(pod)
		if pod.Name != want {
			t.Errorf("got %s, want %s", pod.Name, want)
		}
		pod.UID = "uid-1"
		if _, err := s.AddPod(pod, true, now); err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
}
