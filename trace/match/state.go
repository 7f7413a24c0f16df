package match

import "probesim.dev/trace"

// State is the status of each pod in the API server, rebuilt from the records of a trace. The zero
// value has no pods.
type State struct {
	pods map[string]*trace.PodStatus
}

// pending is the status of a new pod. The API server sets the phase when it creates the pod
// (pkg/registry/core/pod/strategy.go at v1.37.0); the kubelet sets everything else.
var pending = &trace.PodStatus{Phase: "Pending"}

// Apply updates the state with a record.
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

// Status returns the status of the pod namespace/name, or nil before the pod is created and after
// it is removed.
func (s *State) Status(pod string) *trace.PodStatus { return s.pods[pod] }

func (s *State) set(pod string, status *trace.PodStatus) {
	if s.pods == nil {
		s.pods = map[string]*trace.PodStatus{}
	}
	s.pods[pod] = status
}
