package fakeruntime

import (
	"maps"
	"slices"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Copy returns a runtime in the state of r, which adds its records with another function. Pods,
// sandboxes, containers and the calls in progress refer to each other and change, so all of them
// are copied. Programs, answers and the results of lists do not change, and are shared. The copy
// does not know who waits for a call: Advance returns it without a Waiter. All calls that have
// ended must have been returned.
func (r *Runtime) Copy(record func(trace.Record) int64) *Runtime {
	c := &copier{
		pods: map[*pod]*pod{}, configs: map[*podContainer]*podContainer{}, sandboxes: map[*sandbox]*sandbox{},
		containers: map[*container]*container{}, ops: map[*Op]*Op{}, override: new(*r.scope.override),
	}
	n := &Runtime{
		record: record, recordCalls: r.recordCalls, recordRules: r.recordRules, scope: c.scope(r.scope),
		pods: mapped(r.pods, c.pod), sandboxes: mapped(r.sandboxes, c.sandbox),
		containers: mapped(r.containers, c.container),
		instances:  maps.Clone(r.instances), all: c.views(&r.all), generation: r.generation,
		changes: each(r.changes, c.pod),
		moments: clones(r.moments), health: r.health, now: r.now, clockOffset: r.clockOffset,
	}
	n.queue = queue{heap: make([]queued, len(r.queue.heap)), seq: r.queue.seq}
	for i, q := range r.queue.heap {
		n.queue.heap[i] = queued{q.at, q.rank, c.event(q.event)}
	}
	return n
}

// copier copies each object once.
type copier struct {
	pods       map[*pod]*pod
	configs    map[*podContainer]*podContainer
	sandboxes  map[*sandbox]*sandbox
	containers map[*container]*container
	ops        map[*Op]*Op
	override   *[delayKinds]*Draw // of all scopes
}

// copyOf returns the copy of an object. fill sets what the copy cannot share. It gets the copy when
// the copy is known, since objects refer to each other.
func copyOf[T any](known map[*T]*T, of *T, fill func(*T)) *T {
	if of == nil || known[of] != nil {
		return known[of]
	}
	n := new(*of)
	known[of] = n
	fill(n)
	return n
}

// each returns the copies of the objects of a list.
func each[T any](list []*T, copied func(*T) *T) []*T {
	if list == nil {
		return nil
	}
	copies := make([]*T, len(list))
	for i, of := range list {
		copies[i] = copied(of)
	}
	return copies
}

// mapped returns the copies of the objects of a map.
func mapped[T any](objects map[string]*T, copied func(*T) *T) map[string]*T {
	copies := make(map[string]*T, len(objects))
	for name, of := range objects {
		copies[name] = copied(of)
	}
	return copies
}

// clones returns a map with copies of the lists.
func clones(lists map[int][]virtual.Time) map[int][]virtual.Time {
	n := make(map[int][]virtual.Time, len(lists))
	for moment, times := range lists {
		n[moment] = slices.Clone(times)
	}
	return n
}

func (c *copier) scope(s scope) scope {
	s.override = c.override
	return s
}

func (c *copier) pod(of *pod) *pod {
	return copyOf(c.pods, of, func(p *pod) {
		p.scope, p.containers, p.ids, p.views = c.scope(p.scope), mapped(p.containers, c.config), maps.Clone(p.ids),
			c.views(&of.views)
	})
}

func (c *copier) views(v *views) views {
	n := *v
	n.sandboxes, n.containers = each(v.sandboxes, c.sandbox), each(v.containers, c.container)
	return n
}

func (c *copier) config(of *podContainer) *podContainer {
	return copyOf(c.configs, of, func(p *podContainer) {
		p.scope, p.running, p.logs = c.scope(p.scope), c.container(p.running), slices.Clone(p.logs)
	})
}

func (c *copier) sandbox(of *sandbox) *sandbox {
	return copyOf(c.sandboxes, of, func(s *sandbox) { s.pod = c.pod(s.pod) })
}

func (c *copier) container(of *container) *container {
	return copyOf(c.containers, of, func(n *container) {
		n.event.process = n
		n.pod, n.config, n.sandbox = c.pod(n.pod), c.config(n.config), c.sandbox(n.sandbox)
		n.instance.rules = slices.Clone(n.instance.rules)
		n.requests, n.stops = each(n.requests, c.op), each(n.stops, c.op)
		n.request = [1]*Op{}
	})
}

func (c *copier) op(of *Op) *Op {
	return copyOf(c.ops, of, func(op *Op) {
		op.Waiter = nil
		if op.event.op != nil {
			op.event.op = op
		}
		op.pod, op.sandbox, op.container = c.pod(op.pod), c.sandbox(op.sandbox), c.container(op.container)
		op.request.agent = c.container(op.request.agent)
		op.Call.Ref.container = c.container(op.Call.Ref.container)
	})
}

func (c *copier) event(e *event) *event {
	if e.process != nil {
		return &c.container(e.process).event
	}
	return &c.op(e.op).event
}
