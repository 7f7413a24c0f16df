package realcontrollers

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/trace"
)

// scheduler binds each pod of a controller to the node, in the place of kube-scheduler. It follows
// the rules of the simulator's.
type scheduler struct {
	*Server
	controller.Scheduling
	cache  map[string]*v1.Pod // as its watch shows them
	active []string           // keys of the pods to schedule, if the node has a size
}

// startScheduler starts the scheduler. The caller holds the lock.
func (s *Server) startScheduler() {
	c := &scheduler{Server: s, Scheduling: controller.Scheduling{Size: s.Size}, cache: map[string]*v1.Pod{}}
	s.follow("kube-scheduler", store.Pods, c.changed)
}

func (s *scheduler) changed(c store.Change) {
	pod := c.New.(*v1.Pod)
	key := store.Key(pod)
	old := s.cache[key]
	if c.Type == store.Deleted {
		delete(s.cache, key)
		pod = nil
	} else {
		s.cache[key] = pod
	}
	for _, key := range s.Changed(old, pod) {
		s.schedule(key)
	}
}

// schedule binds a pod after a delay. If the node has a size, one pod is scheduled after the other.
func (s *scheduler) schedule(key string) {
	if !s.Limited() {
		s.later(s.Delays.Schedule(key), func() { s.attempt("schedule "+key, key) })
		return
	}
	if s.active = append(s.active, key); len(s.active) == 1 {
		s.next()
	}
}

// next schedules the first pod after a delay, and then the others.
func (s *scheduler) next() {
	key := s.active[0]
	s.later(s.Delays.Schedule(key), func() {
		s.attempt(controller.LimitedScheduler, key)
		if s.active = s.active[1:]; len(s.active) > 0 {
			s.next()
		}
	})
}

// attempt binds a pod now, if it fits.
func (s *scheduler) attempt(process, key string) {
	s.Turn(process, "bind")
	pod := s.cache[key]
	if pod == nil {
		return
	}
	if event, fits := s.Fits(pod, func() []*v1.Pod { return slices.Collect(maps.Values(s.cache)) }); !fits {
		s.Record(event)
		return
	}
	if s.bind(key) {
		s.Assume(key)
	}
}

// bind binds a pod to the node, if there still is one that is not bound.
func (s *scheduler) bind(key string) bool {
	old := s.Store.Pod(key)
	if old == nil || old.Spec.NodeName != "" {
		return false
	}
	pod := *old
	pod.Spec.NodeName = admission.NodeName
	s.Record(trace.Record{Kind: trace.PodScheduled, Pod: key, Message: admission.NodeName})
	s.Pods.BindPod(old, &pod)
	return true
}
