package match

import (
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Moment selects moments of a run: changes to a state, or records. Exactly one of Becomes and
// Record is set.
type Moment struct {
	strict.Pos `json:"-"`

	Pod string `json:"pod,omitempty"` // a pod or workload; empty: any
	// empty: the state of the pod, or records about any container
	Container string          `json:"container,omitempty"`
	Instance  *value.IntRange `json:"instance,omitempty"` // only with Record; nil: any
	Becomes   Fields          `json:"becomes,omitempty"`
	Record    *Record         `json:"record,omitempty"`
}

// OfNode reports whether the moments are records about the node.
func (m *Moment) OfNode() bool {
	return m.Record != nil && (m.Record.Kind == trace.KubeletStopped || m.Record.Kind == trace.KubeletStarted)
}

// Watcher finds moments while a trace is written. Create one with Moment.NewWatcher.
type Watcher struct {
	moment *Moment
	pods   func(pod string) bool
	held   map[string]bool // whether the last status matched Becomes, by pod
	state  State
}

// NewWatcher returns a watcher for the pods, given as namespace/name, for which pods returns true;
// nil means all pods. The watcher always observes records about the node.
func (m *Moment) NewWatcher(pods func(pod string) bool) *Watcher {
	return &Watcher{moment: m, pods: pods, held: map[string]bool{}}
}

// Observe reports whether the next record of the trace is a moment. Call it for each record, in
// order.
func (w *Watcher) Observe(r *trace.Record) bool {
	if r.Pod != "" && w.pods != nil && !w.pods(r.Pod) {
		return false
	}
	if w.moment.Record != nil {
		return w.record(r)
	}
	return w.becomes(r)
}

func (w *Watcher) record(r *trace.Record) bool {
	m := w.moment
	if m.Container != "" && r.Container != m.Container {
		return false
	}
	if m.Instance != nil && (r.Container == "" || !m.Instance.Contains(r.Instance)) {
		return false
	}
	return m.Record.Match(r)
}

// becomes reports a change from no match to a match. The first status of a pod or container is not
// a change.
func (w *Watcher) becomes(r *trace.Record) bool {
	if r.Kind != trace.PodAdded && r.Kind != trace.StatusPatched && r.Kind != trace.PodRemoved {
		return false
	}
	m := w.moment
	first := !has(w.state.Status(r.Pod), m.Container)
	w.state.Apply(r)
	before := w.held[r.Pod]
	now := m.Becomes.Status(w.state.Status(r.Pod), m.Container)
	w.held[r.Pod] = now
	return now && !before && !first
}

// has reports whether the pod, or the container if it is not empty, has a status.
func has(status *trace.PodStatus, container string) bool {
	return status != nil && (container == "" || containerOf(status, container) != nil)
}

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
