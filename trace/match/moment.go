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
