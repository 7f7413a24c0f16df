package match

import "probesim.dev/trace"

// State is what the API server has of each pod, rebuilt from the records of a trace. The zero value
// knows no pod.
type State struct {
	pods map[string]*trace.PodStatus
}

// pending is the status of a pod that the API server has just created: it sets the phase when it stores
// the pod (pkg/registry/core/pod/strategy.go at v1.37.0), and all else is the kubelet's.
var pending = &trace.PodStatus{Phase: "Pending"}

// Apply brings the state up to date with a record.
func (s *State) Apply(r *trace.Record) {
	switch r.Kind {
	case trace.PodAdded:
		s.set(r.Pod, pending)
	case trace.StatusPatched:
		s.set(r.Pod, r.Status)
	case trace.PodRemoved:
		delete(s.pods, r.Pod)
	}
}

// Status returns the status of the pod namespace/name, or nil if it has none: it was not created yet or
// is removed.
func (s *State) Status(pod string) *trace.PodStatus { return s.pods[pod] }

func (s *State) set(pod string, status *trace.PodStatus) {
	if s.pods == nil {
		s.pods = map[string]*trace.PodStatus{}
	}
	s.pods[pod] = status
}
