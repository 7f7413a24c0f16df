package match

import (
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Moment names moments of a run: the changes of a state, or records. Exactly one of Becomes and Record
// is set.
type Moment struct {
	strict.Pos `json:"-"`

	Pod       string          `json:"pod,omitempty"`       // a pod or workload; empty: any
	Container string          `json:"container,omitempty"` // empty: the pod's own state, any container's record
	Instance  *value.IntRange `json:"instance,omitempty"`  // for Record
	Becomes   Fields          `json:"becomes,omitempty"`
	Record    *Record         `json:"record,omitempty"`
}

// Watcher finds the moments in a trace as its records come in.
type Watcher struct {
	moment *Moment
	pods   func(pod string) bool
	held   map[string]bool // by pod: whether its last status matched Becomes
	state  State
}

// NewWatcher returns a watcher that looks at the pods, given as namespace/name, that pods reports true
// for; nil means all. Records about the node have no pod and are always looked at.
func (m *Moment) NewWatcher(pods func(pod string) bool) *Watcher {
	return &Watcher{moment: m, pods: pods, held: map[string]bool{}}
}

// Observe takes the next record and reports whether it is a moment: of its pod, or of the node.
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

// becomes reports a change from not matching to matching. The first status, of a pod or of a container,
// is no change.
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

// has reports whether there is a status, of the pod or of a container of it.
func has(status *trace.PodStatus, container string) bool {
	return status != nil && (container == "" || containerOf(status, container) != nil)
}
