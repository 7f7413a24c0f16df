package expect

import (
	"slices"
	"sort"
	"strconv"

	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// index finds records by pod and kind. It refers to a record by its position in the trace.
type index struct {
	records []trace.Record
	pods    map[string]*podIndex // also the Deployments
	node    map[trace.Kind][]int
	added   []string // pods, in order
	details bool     // the statuses have their details
	found   map[wanted][]int
}

// wanted identifies the records that moments finds: expectations are often about the same records.
type wanted struct {
	key, container string
	instances      value.IntRange
	numbered       bool
	kind           trace.Kind
	fields         string
}

func wantedBy(m *match.Moment, key string) wanted {
	w := wanted{key: key, container: m.Container, kind: m.Record.Kind}
	if m.Instance != nil {
		w.instances, w.numbered = *m.Instance, true
	}
	for _, f := range m.Record.Fields {
		w.fields += f.Name + strconv.Quote(f.Match.String()) // quoted, because a text can have line breaks and colons
	}
	return w
}

type podIndex struct {
	kinds    map[trace.Kind][]int
	statuses []int   // the records that set the status
	states   []state // after each instant with such records
}

// state is the status of a pod or the state of a Deployment from time t on. Both are nil if a pod
// has no status.
type state struct {
	t        virtual.Time
	status   *trace.PodStatus
	workload *trace.Workload
	record   int
}

// matches reports whether the state meets all conditions.
func (s *state) matches(f match.Fields, container string) bool {
	if s.workload != nil {
		return f.Workload(s.workload)
	}
	return f.Status(s.status, container)
}

// lookup returns the value of a field, or false if the state has none.
func (s *state) lookup(container, name string) (value.Scalar, bool) {
	if s.workload != nil {
		return match.LookupWorkload(s.workload, name)
	}
	return match.Lookup(s.status, container, name)
}

func newIndex(records []trace.Record) *index {
	ix := &index{records: records, pods: map[string]*podIndex{}, node: map[trace.Kind][]int{}, details: true,
		found: map[wanted][]int{}}
	var now match.State
	for i := range records {
		r := &records[i]
		if r.Pod == "" {
			ix.node[r.Kind] = append(ix.node[r.Kind], i)
			if r.Kind == trace.WorkloadChanged && r.Object.Workload != nil {
				ix.entry(r.Object.Name).setState(state{t: r.T, workload: r.Object.Workload, record: i})
			}
			continue
		}
		p := ix.entry(r.Pod)
		p.kinds[r.Kind] = append(p.kinds[r.Kind], i)
		switch r.Kind {
		case trace.PodAdded, trace.StatusPatched, trace.PodRemoved:
			if r.Kind == trace.PodAdded && len(p.states) == 0 {
				ix.added = append(ix.added, r.Pod)
			}
			now.Apply(r)
			ix.details = ix.details && (r.Status == nil || r.Status.Details != nil)
			p.setState(state{t: r.T, status: now.Status(r.Pod), record: i})
		}
	}
	return ix
}

// entry returns the records of a pod or a Deployment, to add to them.
func (ix *index) entry(key string) *podIndex {
	if ix.pods[key] == nil {
		ix.pods[key] = &podIndex{kinds: map[trace.Kind][]int{}}
	}
	return ix.pods[key]
}

// setState appends a state. A state of the same instant replaces the one before.
func (p *podIndex) setState(s state) {
	p.statuses = append(p.statuses, s.record)
	if n := len(p.states); n > 0 && p.states[n-1].t == s.t {
		p.states[n-1] = s
		return
	}
	p.states = append(p.states, s)
}

var noPod podIndex

func (ix *index) pod(key string) *podIndex {
	if p := ix.pods[key]; p != nil {
		return p
	}
	return &noPod
}

// stateAt returns the state of a pod or a Deployment at t.
func (ix *index) stateAt(key string, t virtual.Time) (s state) {
	states := ix.pod(key).states
	if later := sort.Search(len(states), func(i int) bool { return states[i].t > t }); later > 0 {
		s = states[later-1]
	}
	return s
}

// moments returns the records of a pod and of the node that match m, in order. Do not modify the
// result.
func (ix *index) moments(m *match.Moment, key string) []int {
	if m.Record == nil {
		return ix.observed(m, ix.pod(key).statuses)
	}
	w := wantedBy(m, key)
	found, known := ix.found[w]
	if !known {
		found = ix.observed(m, merge(ix.pod(key).kinds[m.Record.Kind], ix.node[m.Record.Kind]))
		ix.found[w] = found
	}
	return found
}

// observed returns those of some records that match m.
func (ix *index) observed(m *match.Moment, candidates []int) []int {
	watcher := m.NewWatcher(nil)
	var found []int
	for _, i := range candidates {
		if watcher.Observe(&ix.records[i]) {
			found = append(found, i)
		}
	}
	return found
}

// merge merges two sorted lists.
func merge(a, b []int) []int {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return all
}

func (ix *index) at(record int) virtual.Time { return ix.records[record].T }

// search returns the index in a list of records of the first record at or after t.
func (ix *index) search(list []int, t virtual.Time) int {
	return sort.Search(len(list), func(i int) bool { return ix.at(list[i]) >= t })
}
