package controller

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/apiserver/store"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/podutil"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// scheduler binds each pod of a controller to the node. Of what kube-scheduler looks at, only the requests of CPU and memory count. It does
// not preempt pods, and does not write the condition PodScheduled of a pod that does not fit.
type scheduler struct {
	env     *Env
	pods    *Informer
	assumed map[string]*v1.Pod // pods that are bound and that the cache does not show yet, by key
	active  []string           // keys of the pods to schedule, if the node has a size
	waiting []string           // keys of the pods that do not fit, the one that waits longest first
}

// StartScheduler starts the scheduler.
func StartScheduler(env *Env, f *Informers) {
	s := &scheduler{env: env, pods: f.Of(store.Pods), assumed: map[string]*v1.Pod{}}
	s.pods.Handle(s.changed)
}

// changed schedules a new pod. When a pod has left the node, it tries those again that did not fit (isSchedulableAfterPodEvent in
// pkg/scheduler/framework/plugins/noderesources/fit.go at v1.37.0; their back-off does not count, since the queue is empty otherwise, see
// SchedulerPopFromBackoffQ).
func (s *scheduler) changed(old, o store.Object) {
	pod, added := o.(*v1.Pod)
	if added && pod.Spec.NodeName != "" {
		delete(s.assumed, store.Key(pod))
	}
	switch {
	case added && old == nil && pod.Spec.NodeName == "":
		s.schedule(store.Key(pod))
	case len(s.waiting) > 0 && (!added || terminal(pod)):
		again := s.waiting
		s.waiting = nil
		for _, key := range again {
			s.schedule(key)
		}
	}
}

func terminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// schedule binds a pod after a delay. If the node has a size, one pod is scheduled after the other.
func (s *scheduler) schedule(key string) {
	switch s.active = append(s.active, key); {
	case s.env.Size == (kubeletconfig.Allocatable{}):
		s.active = nil
		s.env.Sim.Go("schedule "+key, func(p *sim.Proc) { s.attempt(p, key) })
	case len(s.active) == 1:
		s.env.Sim.Go("scheduler", func(p *sim.Proc) {
			for ; len(s.active) > 0; s.active = s.active[1:] {
				s.attempt(p, s.active[0])
			}
		})
	}
}

// attempt binds a pod after a delay, if it fits.
func (s *scheduler) attempt(p *sim.Proc, key string) {
	p.Sleep(s.env.Delays.Schedule(key))
	p.Turn("bind")
	pod, ok := Get[*v1.Pod](s.pods, key)
	if !ok {
		return
	}
	if missing := s.missing(pod); len(missing) > 0 {
		s.waiting = append(s.waiting, key)
		s.env.Trace.Add(trace.Record{
			T: p.Now(), Kind: trace.Event, Cause: p.Cause(), Pod: key, Type: v1.EventTypeWarning, Reason: "FailedScheduling",
			Message: fmt.Sprintf("0/1 nodes are available: %s. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.", strings.Join(missing, ", ")),
		})
		return
	}
	if s.env.API.Bind(key, admission.NodeName) {
		s.assumed[key] = pod
	}
}

// missing returns what the node does not have for a pod, as in the message of an event (fitsRequest in
// pkg/scheduler/framework/plugins/noderesources/fit.go at v1.37.0).
func (s *scheduler) missing(pod *v1.Pod) []string {
	size := s.env.Size
	if size == (kubeletconfig.Allocatable{}) {
		return nil
	}
	needs, used := requests(pod), kubeletconfig.Allocatable{}
	for _, other := range List(s.pods, func(o *v1.Pod) bool { return !terminal(o) && (o.Spec.NodeName != "" || s.assumed[store.Key(o)] != nil) }) {
		of := requests(other)
		used.MilliCPU += of.MilliCPU
		used.Memory += of.Memory
	}
	var list []string
	if size.MilliCPU > 0 && needs.MilliCPU > 0 && needs.MilliCPU > size.MilliCPU-used.MilliCPU {
		list = append(list, "1 Insufficient cpu")
	}
	if size.Memory > 0 && needs.Memory > 0 && needs.Memory > size.Memory-used.Memory {
		list = append(list, "1 Insufficient memory")
	}
	return list
}

func requests(pod *v1.Pod) kubeletconfig.Allocatable {
	list := podutil.SumOf(pod, func(c *v1.Container) v1.ResourceList { return c.Resources.Requests })
	return kubeletconfig.Allocatable{MilliCPU: list.Cpu().MilliValue(), Memory: list.Memory().Value()}
}
