package controller

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim"
)

// scheduler binds each pod of a controller to the node.
type scheduler struct {
	Scheduling
	env    *Env
	pods   *Informer
	active []string // keys of the pods to schedule, if the node has a size
}

// StartScheduler starts the scheduler.
func StartScheduler(env *Env, f *Informers) {
	s := &scheduler{Scheduling: Scheduling{Size: env.Size}, env: env, pods: f.Of(store.Pods)}
	s.pods.Handle(func(old, o store.Object) {
		before, _ := old.(*v1.Pod)
		pod, _ := o.(*v1.Pod)
		for _, key := range s.Changed(before, pod) {
			s.schedule(key)
		}
	})
}

// schedule binds a pod after a delay. If the node has a size, one pod is scheduled after the other.
func (s *scheduler) schedule(key string) {
	if !s.Limited() {
		s.env.Sim.Go("schedule "+key, func(p *sim.Proc) { s.attempt(p, key) })
		return
	}
	if s.active = append(s.active, key); len(s.active) == 1 {
		s.env.Sim.Go(LimitedScheduler, func(p *sim.Proc) {
			for ; len(s.active) > 0; s.active = s.active[1:] {
				s.attempt(p, s.active[0])
			}
		})
	}
}

// LimitedScheduler is the process that binds the pods one after the other.
const LimitedScheduler = "scheduler"

// attempt binds a pod after a delay, if it fits.
func (s *scheduler) attempt(p *sim.Proc, key string) {
	p.Sleep(s.env.Delays.Schedule(key))
	p.Turn("bind")
	pod, ok := Get[*v1.Pod](s.pods, key)
	if !ok {
		return
	}
	if event, fits := s.Fits(pod, func() []*v1.Pod { return List(s.pods, func(*v1.Pod) bool { return true }) }); !fits {
		event.T, event.Cause = p.Now(), p.Cause()
		s.env.Trace.Add(event)
		return
	}
	if s.env.API.Bind(key, admission.NodeName) {
		s.Assume(key)
	}
}
