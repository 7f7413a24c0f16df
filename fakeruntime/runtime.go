package fakeruntime

import (
	"maps"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Options configures a Runtime. The zero value has no seed and the default delays.
type Options struct {
	// Seed of all random values. Nil: every range yields its middle, and chances never come true.
	Seed *int64
	// Delays of the run. Pods and containers can override them.
	Delays Delays
	// Record is called with each ContainerStarted, ContainerStopping and ContainerExited record. It
	// returns the step of the record. Nil: no records.
	Record func(trace.Record) int64
	// RecordCalls adds a CRICall record for each call when it returns.
	RecordCalls bool
	// RecordRules adds a Behavior record for each request to a program, and for each exit and each
	// change of its listener that a rule decides.
	RecordRules bool
}

// Runtime is a container runtime. Use New to create one. It must be used from one goroutine at a
// time.
type Runtime struct {
	record      func(trace.Record) int64
	recordCalls bool
	recordRules bool
	scope       scope

	pods       map[string]*pod // by UID
	sandboxes  map[string]*sandbox
	containers map[string]*container
	instances  map[string]int // of all containers, including removed ones, by ID

	all        views // of all pods
	generation uint64
	changes    []*pod // the pod that changed in each generation

	moments     map[int][]virtual.Time // when each occurred
	windows     []Window               // of programs that have ended
	health      Health
	outages     []outage
	faults      []*Fault // that wait for calls, oldest first
	now         virtual.Time
	clockOffset time.Duration // wall time minus virtual time
	queue       queue
	submitted   *Op   // the call of the present Submit, which returns it
	done        []*Op // for the next Advance to return
	handed      []*Op // returned by the last Advance
	free        []*Op
}

// New returns a runtime without pods.
func New(o Options) *Runtime {
	if o.Record == nil {
		o.Record = func(trace.Record) int64 { return 0 }
	}
	builtin := scope{delays: defaultDelays, override: new([DelayKinds]*Draw)}
	return &Runtime{
		record: o.Record, recordCalls: o.RecordCalls, recordRules: o.RecordRules,
		scope:      builtin.narrower(newKey(o.Seed), o.Delays),
		pods:       map[string]*pod{},
		moments:    map[int][]virtual.Time{},
		sandboxes:  map[string]*sandbox{},
		containers: map[string]*container{},
		instances:  map[string]int{},
		now:        -never,
	}
}

// AddPod adds a pod with the programs of its containers. The driver must call it before the first
// call about the pod. Pods get their IPs in the order of their addition.
func (r *Runtime) AddPod(p Pod) {
	if r.pods[p.UID] != nil {
		return
	}
	r.pods[p.UID] = newPod(p, &r.scope, len(r.pods)+1)
}

// AddContainer sets the program of a container that is added to a pod later, before the first call
// about the container.
func (r *Runtime) AddContainer(podUID, name string, c ContainerConfig) {
	if p := r.pods[podUID]; p != nil {
		p.Containers = maps.Clone(p.Containers)
		if p.Containers == nil {
			p.Containers = map[string]ContainerConfig{}
		}
		p.Containers[name] = c
		if known := p.containers[name]; known != nil && !known.created {
			delete(p.containers, name)
		}
	}
}

// Generation returns a number that grows whenever a sandbox or container is created, changes its
// state or is removed.
func (r *Runtime) Generation() uint64 { return r.generation }

// Instance returns the instance number of a container, even after its removal. It is 0 for an
// unknown ID.
func (r *Runtime) Instance(containerID string) int { return r.instances[containerID] }

// Step returns the step of the latest record about a container, or 0 if the container does not
// exist.
func (r *Runtime) Step(containerID string) int64 {
	if c := r.containers[containerID]; c != nil {
		return c.Step
	}
	return 0
}

// LastStep returns the step of the latest record about the containers of a name: a start, an exit,
// or the cause of a removal. It is 0 if there is none.
func (r *Runtime) LastStep(podUID, name string) int64 {
	if c := r.config(podUID, name); c != nil {
		return c.step
	}
	return 0
}

// config returns what the containers of a name share, or nil if there was none.
func (r *Runtime) config(podUID, name string) *podContainer {
	if p := r.pods[podUID]; p != nil {
		return p.containers[name]
	}
	return nil
}

// EventInstance returns the instance that an event about a container belongs to: the newest
// instance, or 0 if there is none. Events about the image precede the creation of a container, so
// they belong to the next instance.
func (r *Runtime) EventInstance(podUID, name, reason string) int {
	c := r.config(podUID, name)
	switch {
	case c == nil || !c.created:
		return 0
	case reason == "Pulling" || reason == "Pulled" || reason == "InspectFailed":
		return c.latest + 1
	}
	return c.latest
}
