package fakeruntime

import (
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Options configures a Runtime. The zero value is a run without a seed and with the default delays.
type Options struct {
	// Seed of all draws. Nil: every range gives its middle and no chance comes up.
	Seed *int64
	// Delays of the whole scenario, unless a pod or container has its own.
	Delays Delays
	// Record is handed ContainerStarted, ContainerStopping and ContainerExited records as they
	// happen; it returns the step of the record.
	Record func(trace.Record) int64
	// RecordCalls has Record handed a CRICall record too for each call when it returns.
	RecordCalls bool
}

// Runtime is a container runtime. It is not safe for use by several goroutines.
type Runtime struct {
	record      func(trace.Record) int64
	recordCalls bool
	scope       scope

	pods       map[string]*pod // by UID
	sandboxes  map[string]*sandbox
	containers map[string]*container
	instances  map[string]int // of all containers that there ever were, by ID

	all        views // of all pods
	generation uint64
	changes    []*pod // the pod that made each generation

	health    Health
	now       virtual.Time
	ahead     time.Duration // the wall clock, of virtual time
	queue     queue
	submitted *Op   // being submitted: it is handed back by Submit
	done      []*Op // to be handed out by Advance
	handed    []*Op // handed out by the last Advance
	free      []*Op
}

// New returns a runtime without pods.
func New(o Options) *Runtime {
	if o.Record == nil {
		o.Record = func(trace.Record) int64 { return 0 }
	}
	builtin := (&scope{delays: new([delayKinds]Draw), override: new([delayKinds]*Draw)}).narrower(key{}, DefaultDelays())
	return &Runtime{
		record: o.Record, recordCalls: o.RecordCalls,
		scope:      builtin.narrower(newKey(o.Seed), o.Delays),
		pods:       map[string]*pod{},
		sandboxes:  map[string]*sandbox{},
		containers: map[string]*container{},
		instances:  map[string]int{},
		now:        -never,
	}
}

// AddPod says who a pod is and what its containers do. It comes before the first call about the pod.
// Pods get their IPs in the order in which they are added.
func (r *Runtime) AddPod(p Pod) {
	r.pods[p.UID] = newPod(p, &r.scope, len(r.pods)+1)
}

// Generation returns a number that changes whenever a sandbox or container is created, changes its
// state or is removed.
func (r *Runtime) Generation() uint64 { return r.generation }

// Instance returns the instance that a container is, also one that has been removed.
func (r *Runtime) Instance(containerID string) int { return r.instances[containerID] }

// Step returns the step of the last record about a container, 0 if it is gone.
func (r *Runtime) Step(containerID string) int64 {
	if c := r.containers[containerID]; c != nil {
		return c.Step
	}
	return 0
}

// LastStep returns the step of the last record about the containers of that name: a start, an exit, or what had one
// removed. It is 0 if there is none.
func (r *Runtime) LastStep(podUID, name string) int64 {
	if p := r.pods[podUID]; p != nil && p.containers[name] != nil {
		return p.containers[name].step
	}
	return 0
}

// EventInstance returns the instance that an event about a container belongs to: that of the container
// created last, or 0. What is said of its image comes before the creation of the next.
func (r *Runtime) EventInstance(podUID, name, reason string) int {
	p := r.pods[podUID]
	if p == nil {
		return 0
	}
	c := p.containers[name]
	switch {
	case c == nil || !c.created:
		return 0
	case reason == "Pulling" || reason == "Pulled" || reason == "InspectFailed":
		return c.latest + 1
	}
	return c.latest
}
