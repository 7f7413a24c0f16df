package apiserver

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/trace"
)

// The methods in this file serve controllers and users of objects other than pods. They act now, at
// the cause of the process that calls them; a controller waits for the latency of its call before.

// Object returns an object by its kind and key, or nil.
func (s *Server) Object(kind store.Kind, key string) store.Object { return s.store.Get(kind, key) }

// FindObject returns an object, or a NotFound error.
func (s *Server) FindObject(kind store.Kind, namespace, name string) (store.Object, error) {
	return s.store.Find(kind, namespace, name)
}

// Objects returns the objects of a kind, by key.
func (s *Server) Objects(kind store.Kind) []store.Object { return s.store.List(kind) }

// CreateObject stores a new object that is not a pod, and returns it; see store.Store.Create.
func (s *Server) CreateObject(kind store.Kind, o store.Object) (store.Object, error) {
	return s.stored(s.store.Create(kind, o, s.o.Now()))
}

// UpdateObject replaces an object except its status, and returns it; see store.Store.Update.
func (s *Server) UpdateObject(kind store.Kind, o store.Object) (store.Object, error) {
	return s.stored(s.store.Update(kind, o))
}

// UpdateObjectStatus replaces the status of an object, and returns the object; see
// store.Store.UpdateStatus.
func (s *Server) UpdateObjectStatus(kind store.Kind, o store.Object) (store.Object, error) {
	return s.stored(s.store.UpdateStatus(kind, o))
}

// DeleteObject removes an object that is not a pod; see store.Store.Delete.
func (s *Server) DeleteObject(kind store.Kind, namespace, name string) error {
	_, err := s.stored(s.store.Delete(kind, namespace, name))
	return err
}

// stored records and publishes the change of an object, if there is one, and returns the object.
func (s *Server) stored(c store.Change, err error) (store.Object, error) {
	if err != nil || c.Type == "" {
		return c.New, err
	}
	cause := s.o.Sim.Cause()
	for _, r := range RecordsOf(c) {
		r.T, r.Cause = s.o.Sim.Now(), s.o.Sim.Cause()
		cause = s.o.Trace.Add(r)
	}
	s.publish(c, cause)
	return c.New, nil
}

// CreateControlledPod stores a pod of a controller, which is not bound to a node, and returns it.
// It sets the defaults and the name; it returns an Invalid error that lists all invalid fields.
func (s *Server) CreateControlledPod(pod *v1.Pod) (*v1.Pod, error) {
	named := *pod
	s.store.NamePod(&named)
	admitted, err := admission.Admit(s.o.Profile, &named)
	if err != nil {
		return nil, err
	}
	c, err := s.store.AddPod(admitted, true, s.o.Now())
	if err != nil {
		return nil, err
	}
	s.unbound[admitted.UID] = true
	if s.o.PodCreated != nil {
		s.o.PodCreated(admitted)
	}
	r := trace.Record{T: s.o.Sim.Now(), Kind: trace.PodAdded, Cause: s.o.Sim.Cause(), Pod: store.Key(admitted)}
	if owner := metav1.GetControllerOfNoCopy(admitted); owner != nil {
		r.Object = &trace.Object{Name: owner.Kind + " " + admitted.Namespace + "/" + owner.Name}
	}
	s.steps[admitted.UID] = s.o.Trace.Add(r)
	s.publish(c, s.steps[admitted.UID])
	return admitted, nil
}

// DeleteControlledPod deletes a pod as a controller does, with the grace period of the pod. A pod
// that is not bound to a node is removed at once (CheckGracefulDelete in
// pkg/registry/core/pod/strategy.go at v1.37.0). It returns a NotFound error if the pod does not
// exist.
func (s *Server) DeleteControlledPod(namespace, name string) error {
	old, err := s.store.FindPod(namespace, name)
	if err != nil {
		return err
	}
	var grace *int64
	if s.unbound[old.UID] {
		grace = new(int64)
	}
	s.steps[old.UID] = s.record(trace.PodDeleteRequested, old, s.o.Sim.Cause())
	s.delete(old, grace, s.steps[old.UID])
	return nil
}

// Bind binds a pod to a node, as the scheduler does: the kubelet sees the pod from now on. It
// reports false if the pod is gone or bound.
func (s *Server) Bind(key, node string) bool {
	old := s.store.Pod(key)
	if old == nil || !s.unbound[old.UID] {
		return false
	}
	pod := *old
	pod.Spec.NodeName = node
	step := s.o.Trace.Add(trace.Record{
		T: s.o.Sim.Now(), Kind: trace.PodScheduled, Cause: s.o.Sim.Cause(), Pod: key, Message: node,
	})
	delete(s.unbound, old.UID)
	s.send(WatchEvent{Type: Added, Pod: &pod, Cause: step})
	s.toControllers(s.store.PutPod(old, &pod), step)
	return true
}
