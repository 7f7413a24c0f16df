package controller

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Scheduling is what the scheduler knows besides its cache. It has no time of its own: the
// scheduler of the simulator and the one beside the real controllers share it. Of what
// kube-scheduler looks at, only the requests of CPU and memory count. It does not preempt pods, and
// does not write the condition PodScheduled of a pod that does not fit.
type Scheduling struct {
	Size    kubeletconfig.Allocatable // of the node; 0: enough for every pod
	assumed map[string]bool           // pods that are bound and that the cache does not show yet, by key
	waiting []string                  // keys of the pods that do not fit, the one that waits longest first
}

// Limited reports whether the node has a size. One pod is scheduled after the other then.
func (s *Scheduling) Limited() bool { return s.Size != kubeletconfig.Allocatable{} }

// Changed takes a change of the cache, and returns the keys of the pods to schedule: a new pod, and
// when a pod has left the node, those that did not fit (isSchedulableAfterPodEvent in
// pkg/scheduler/framework/plugins/noderesources/fit.go at v1.37.0; their back-off does not count,
// since the queue is empty otherwise, see SchedulerPopFromBackoffQ). A pod that is added has no old
// state, and one that is deleted no new one.
func (s *Scheduling) Changed(old, pod *v1.Pod) (keys []string) {
	if pod != nil && pod.Spec.NodeName != "" {
		delete(s.assumed, store.Key(pod))
	}
	switch {
	case pod != nil && old == nil && pod.Spec.NodeName == "":
		return []string{store.Key(pod)}
	case len(s.waiting) > 0 && (pod == nil || IsPodTerminal(pod)):
		keys, s.waiting = s.waiting, nil
	}
	return keys
}

// Fits reports whether the node has room for a pod beside those in the cache. Otherwise the pod
// waits, and the event says why.
func (s *Scheduling) Fits(pod *v1.Pod, cache func() []*v1.Pod) (event trace.Record, fits bool) {
	missing := s.missing(pod, cache)
	if len(missing) == 0 {
		return event, true
	}
	s.waiting = append(s.waiting, store.Key(pod))
	return trace.Record{
		Kind: trace.Event, Pod: store.Key(pod), Type: v1.EventTypeWarning, Reason: "FailedScheduling",
		Message: fmt.Sprintf("0/1 nodes are available: %s. preemption: 0/1 nodes are available: 1 No preemption "+
			"victims found for incoming pod.", strings.Join(missing, ", ")),
	}, false
}

// Assume notes that a pod is bound.
func (s *Scheduling) Assume(key string) {
	if s.assumed == nil {
		s.assumed = map[string]bool{}
	}
	s.assumed[key] = true
}

// missing returns what the node does not have for a pod, as in the message of an event (fitsRequest
// in pkg/scheduler/framework/plugins/noderesources/fit.go at v1.37.0).
func (s *Scheduling) missing(pod *v1.Pod, cache func() []*v1.Pod) (list []string) {
	if !s.Limited() {
		return nil
	}
	needs, used := requests(pod), kubeletconfig.Allocatable{}
	for _, other := range cache() {
		if IsPodTerminal(other) || other.Spec.NodeName == "" && !s.assumed[store.Key(other)] {
			continue
		}
		of := requests(other)
		used.MilliCPU += of.MilliCPU
		used.Memory += of.Memory
	}
	if s.Size.MilliCPU > 0 && needs.MilliCPU > 0 && needs.MilliCPU > s.Size.MilliCPU-used.MilliCPU {
		list = append(list, "1 Insufficient cpu")
	}
	if s.Size.Memory > 0 && needs.Memory > 0 && needs.Memory > s.Size.Memory-used.Memory {
		list = append(list, "1 Insufficient memory")
	}
	return list
}

func requests(pod *v1.Pod) kubeletconfig.Allocatable {
	list := podutil.SumOf(pod, func(c *v1.Container) v1.ResourceList { return c.Resources.Requests })
	return kubeletconfig.Allocatable{MilliCPU: list.Cpu().MilliValue(), Memory: list.Memory().Value()}
}

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
