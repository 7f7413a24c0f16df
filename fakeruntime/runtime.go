package fakeruntime

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
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

// Wall converts a virtual time to the wall time on the node. It is the
// virtual time plus all steps of the clock until now.
func (r *Runtime) Wall(t virtual.Time) virtual.Wall { return virtual.Wall(t).Add(r.clockOffset) }

// StepClock moves the wall clock of the node by an amount at time now. Timestamps that the runtime
// has reported do not change.
func (r *Runtime) StepClock(now virtual.Time, by time.Duration) {
	r.run(now)
	r.clockOffset += by
	for _, c := range r.all.containers {
		if c.foundAt > r.now {
			c.FinishedAt = c.FinishedAt.Add(by)
		}
	}
}

// pod is a pod in the runtime.
type pod struct {
	Pod
	scope      scope
	root       key // of the run
	ip         string
	containers map[string]*podContainer
	ids        map[string]int    // number of uses of each ID
	names      map[string]string // IDs by the names that are in use in the runtime
	views      views
}

// podContainer is a container of a pod, with the state that all its instances share.
type podContainer struct {
	scope   scope
	program Program
	own     key // of random values of one instance
	run     key // of random values that all instances and replicas share
	created bool
	latest  int        // instance of the newest container
	running *container // the running container; nil: none
	logs    []int      // attempts whose logs exist
	step    int64      // of the latest record about a container of this name
}

func newPod(p Pod, run *scope, number int) *pod {
	if p.Workload == "" {
		p.Workload = p.Name
	}
	ip := fmt.Sprintf("10.%d.%d.%d", 64+number>>16&63, number>>8&255, number&255)
	if p.HostNetwork {
		ip = ""
	}
	return &pod{
		Pod:        p,
		scope:      run.narrower(run.key.named(p.Namespace).named(p.Name), p.Delays),
		root:       run.key,
		ip:         ip,
		containers: map[string]*podContainer{},
		ids:        map[string]int{},
		names:      map[string]string{},
	}
}

// container returns the container with a name. A name without a configuration has the zero program.
func (p *pod) container(name string) *podContainer {
	c := p.containers[name]
	if c == nil {
		config := p.Containers[name]
		k := p.scope.key.named(name)
		c = &podContainer{
			program: config.Program,
			scope:   p.scope.narrower(k, config.Delays),
			own:     k.named("instance"),
			run:     p.root.named("run").named(p.Namespace).named(p.Workload).named(name),
		}
		p.containers[name] = c
	}
	return c
}

// id returns a unique ID. It depends on the object and not on the order of calls: the simulator and
// the real kubelet get the same IDs and the same order of lists.
func (p *pod) id(of string, attempt int) string {
	id := p.UID + of + "_" + strconv.Itoa(attempt)
	p.ids[id]++
	if n := p.ids[id]; n > 1 {
		id += "_" + strconv.Itoa(n)
	}
	return id
}

// view has the cached results of the list calls of one kind, which are valid until something
// changes: of all objects, and of those that are ready or run.
type view[T any] struct{ all, active []T }

// get returns a cached result, or builds it. It is never nil.
func (v *view[T]) get(active bool, build func() []T) []T {
	list := &v.all
	if active {
		list = &v.active
	}
	if *list == nil {
		*list = build()
	}
	return *list
}

// views contains the sandboxes and containers of all pods or of one, with the cached results of
// list calls.
type views struct {
	sandboxes      []*sandbox // in order of creation
	containers     []*container
	sandboxLists   view[Sandbox]
	containerLists view[Container]
}

// changed invalidates the cached results.
func (v *views) changed() { v.sandboxLists, v.containerLists = view[Sandbox]{}, view[Container]{} }

func (v *views) listSandboxes(ready bool) []Sandbox {
	return v.sandboxLists.get(ready, func() []Sandbox {
		sorted := slices.Clone(v.sandboxes)
		slices.SortFunc(sorted, func(a, b *sandbox) int {
			return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.ID, b.ID))
		})
		items := make([]Sandbox, 0, len(sorted))
		for _, s := range sorted {
			if s.Ready || !ready {
				items = append(items, s.Sandbox)
			}
		}
		return items
	})
}

func (v *views) listContainers(running bool) []Container {
	return v.containerLists.get(running, func() []Container {
		items := make([]Container, 0, len(v.containers))
		for _, c := range slices.Backward(v.containers) {
			if c.State == Running || !running {
				items = append(items, c.Container)
			}
		}
		slices.SortFunc(items, func(a, b Container) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.ID, b.ID))
		})
		return items
	})
}

// without returns a list without an item. It modifies the list.
func without[T comparable](list []T, item T) []T {
	if i := slices.Index(list, item); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// readChanged answers a list call with OnlyChanged. The pods are in the order of their first change
// after Since.
func (r *Runtime) readChanged(op *Op) {
	c := &op.Call
	if c.AndOthers && c.Method == ListPodSandbox {
		op.Sandboxes = r.all.listSandboxes(c.Ready)
	} else if c.AndOthers {
		op.Containers = r.all.listContainers(c.Running)
	}
	if c.Since >= r.generation {
		return
	}
	seen := map[*pod]bool{}
	for _, p := range r.changes[c.Since:] {
		if seen[p] {
			continue
		}
		seen[p] = true
		op.Changed = append(op.Changed, p.UID)
		switch {
		case c.AndOthers:
		case c.Method == ListPodSandbox:
			op.Sandboxes = append(op.Sandboxes, p.views.listSandboxes(c.Ready)...)
		default:
			op.Containers = append(op.Containers, p.views.listContainers(c.Running)...)
		}
	}
}

// never is later than every other time.
const never virtual.Time = math.MaxInt64

// class is the place of an event in the order of one instant; see the package documentation.
type class uint64

const (
	ends class = iota
	changes
	answers
	reads
	expires
)

// event is the end of a process or of a call. It is embedded in the container or Op.
type event struct {
	process *container // the container whose process ends; nil if op is set
	op      *Op
	expires bool // the deadline of op, not its end
	at      virtual.Time
	rank    uint64 // the order at one instant; 0: not queued
	place   int    // in the queue
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.rank < o.rank }

// events is a heap of events, each of which has its place.
type events []*event

func (h events) Len() int           { return len(h) }
func (h events) Less(i, j int) bool { return h[i].before(h[j]) }
func (h events) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *events) Push(e any) {
	e.(*event).place = len(*h)
	*h = append(*h, e.(*event))
}

func (h *events) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last], *h = nil, (*h)[:last]
	return e
}

// queue has events in the order of time, then class, then order of scheduling.
type queue struct {
	events events
	seq    uint64
}

// schedule queues an event for a time, or moves it there. An event at never is not queued.
func (q *queue) schedule(e *event, at virtual.Time, c class) {
	q.cancel(e)
	if at != never {
		q.seq++
		e.at, e.rank = at, uint64(c)<<61|q.seq
		heap.Push(&q.events, e)
	}
}

// cancel removes an event from the queue. An event that is not queued stays so.
func (q *queue) cancel(e *event) {
	if e.rank > 0 {
		heap.Remove(&q.events, e.place)
		e.rank = 0
	}
}

// next returns the time of the first event.
func (q *queue) next() virtual.Time {
	if len(q.events) == 0 {
		return never
	}
	return q.events[0].at
}

// pop removes and returns the first event.
func (q *queue) pop() *event {
	e := q.events[0]
	q.cancel(e)
	return e
}
