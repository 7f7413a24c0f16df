package fakeruntime

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Method is the name of a call of the container runtime interface, as in cri-api, or a network
// request.
type Method string

const (
	RunPodSandbox    Method = "RunPodSandbox"
	StopPodSandbox   Method = "StopPodSandbox"
	RemovePodSandbox Method = "RemovePodSandbox"
	PodSandboxStatus Method = "PodSandboxStatus"
	ListPodSandbox   Method = "ListPodSandbox"
	CreateContainer  Method = "CreateContainer"
	StartContainer   Method = "StartContainer"
	StopContainer    Method = "StopContainer"
	RemoveContainer  Method = "RemoveContainer"
	// UpdateContainerResources changes the resources of a container. The runtime stores none, and
	// the call takes no time.
	UpdateContainerResources Method = "UpdateContainerResources"
	ContainerStatus          Method = "ContainerStatus"
	ListContainers           Method = "ListContainers"
	ExecSync                 Method = "ExecSync"
	ImageStatus              Method = "ImageStatus"
	PullImage                Method = "PullImage"
	ListImages               Method = "ListImages"
	Status                   Method = "Status"
)

// Network requests of probes and hooks to the program in a container. They are not part of the CRI.
const (
	HTTPGet   Method = "HTTPGet"
	TCPSocket Method = "TCPSocket"
	GRPC      Method = "GRPC" // a health check
	// HTTPBody waits for the end of the body of an answer to HTTPGet whose Response has
	// BodyPending. Ref and Answer say which: they are Op.Ref() and Op.Answer of that call.
	HTTPBody Method = "HTTPBody"
)

// asksProgram reports whether the program in a container answers, and not the runtime.
func (m Method) asksProgram() bool { return kinds[m].class == answers }

// IsNetwork reports whether a method is a network request, which does not pass through the runtime.
func (m Method) IsNetwork() bool { return m.asksProgram() && m != ExecSync }

// ImageSize is the size in bytes of every image, as events about pulls show it.
const ImageSize = 1 << 20

// Call is a call to the runtime. Method determines which fields apply.
type Call struct {
	Method Method
	Cause  int64 // step of the trace record that caused the call; 0: unknown

	PodUID    string // RunPodSandbox, network, lists (only this pod), image calls (whose delays apply)
	Attempt   int    // RunPodSandbox, CreateContainer: 0 for the first
	SandboxID string // PodSandboxStatus, StopPodSandbox, RemovePodSandbox, CreateContainer
	// StartContainer, StopContainer, RemoveContainer, UpdateContainerResources, ContainerStatus,
	// ExecSync
	ContainerID string
	Name        string // CreateContainer, network (the container that listens), image calls (whose delays apply)
	Image       string // CreateContainer, ImageStatus, PullImage

	// OnlyChanged limits a list call of all pods to the pods that changed after the Generation
	// Since. A caller that remembers the other pods gets a short answer from a node with many pods.
	OnlyChanged bool
	Since       uint64
	// AndOthers makes the answer to a call with OnlyChanged list the unchanged pods too. Op.Changed
	// still names only the changed pods.
	AndOthers bool

	// KeepLogs makes RemoveContainer keep the logs, which count for NextAttempt.
	KeepLogs bool

	Ready   bool // ListPodSandbox: only ready sandboxes
	Running bool // ListContainers: only running containers

	StopSignal int // CreateContainer: number of the stop signal; 0: SIGTERM

	GraceSeconds int64  // StopContainer: whole seconds from the stop signal to SIGKILL
	StopReason   string // StopContainer: Reason of the ContainerStopping record

	// Deadline is the time after the start of a CRI call at which the caller gives up; 0: never.
	// The call then ends with DeadlineExceeded. The runtime may go on with it.
	Deadline time.Duration
	// Unconnected makes a CRI call fail at once as if the runtime were down, because the caller has
	// no connection.
	Unconnected bool

	// NoFault exempts the call from faults.
	NoFault bool

	Probe   trace.Probe   // ExecSync, network: the probe that makes the request; empty for a lifecycle hook
	Hook    string        // ExecSync, HTTPGet: postStart or preStop; empty for a probe
	Command []string      // ExecSync: for error messages only
	Timeout time.Duration // ExecSync, network: 0: none
	// Retry marks a repetition of the previous request of the same probe run, which broke or could
	// not connect.
	Retry bool
	// Followed marks an HTTPGet that follows the previous answer: a redirect, or HTTP in place of
	// HTTPS.
	Followed bool
	// Handshake is the handshake timeout: how long the caller waits for the first byte after the
	// connection is accepted. Only a frozen program sends nothing. 0: no limit besides Timeout.
	Handshake time.Duration
	// Ref is optional in an ExecSync: the result of Op.Ref of an earlier call, which saves a lookup
	// by ID. HTTPBody requires it.
	Ref    Ref
	Answer *Answer // HTTPBody
}

// Ref refers to a container. It saves the runtime a lookup by ID. The zero value refers to none.
type Ref struct{ container *container }

// Ref returns a reference to the container of the call. It is zero if the call has no container.
func (op *Op) Ref() Ref { return Ref{op.container} }

// Op is a call in progress or done. The fields after Done are valid when Done is true. Slices are
// shared: callers must not modify them.
type Op struct {
	Call  Call
	Start virtual.Time // time of submission
	End   virtual.Time // expected end; undefined while the end depends on other events
	Done  bool

	Err error // the call failed
	// FaultStep is the step of the record of the Fault that made the call fail; 0: none did.
	FaultStep int64
	ID        string // ID of the object to create, from the start of the call; image calls: the reference of the image
	ExitCode  int32  // ExecSync
	Output    string // ExecSync: output of the command
	TimedOut  bool   // ExecSync, network: no answer within Timeout; ExecSync sets Err too
	// The next three fields belong to network requests. Accepted is true once the connection is
	// accepted, which Submit determines. FrozenUntil is the end of the time for which the program
	// has been frozen since then; 0: it was not frozen. Unanswered is true if the program never
	// accepted the connection or never sent a byte.
	Accepted    bool
	FrozenUntil virtual.Time
	Unanswered  bool
	Reply       Reply   // network
	Answer      *Answer // network: the answer; read only

	Conditions []Condition // Status
	Changed    []string    // UIDs of the pods that changed, for a list call with OnlyChanged; removed pods included
	Sandboxes  []Sandbox   // ListPodSandbox, PodSandboxStatus: newest first
	Containers []Container // ListContainers, ContainerStatus: newest CreatedAt first
	Generation uint64      // Runtime.Generation at the end of the call

	// Waiter is for the caller. The runtime does not use it.
	Waiter any

	opState
}

// Reply is the result of a network request that did not time out. If the timeout and the handshake
// timeout expire at the same instant, it is NoHandshake.
type Reply int

const (
	Answered    Reply = iota + 1 // see Op.Answer
	Refused                      // nothing listens
	HungUp                       // accepted, then closed without an answer; a TransportError is in Op.Answer
	NoHandshake                  // the handshake timeout expired
)

// Sandbox is the status of a pod sandbox.
type Sandbox struct {
	ID        string
	PodUID    string
	Namespace string
	PodName   string
	Attempt   int
	Ready     bool
	CreatedAt virtual.Wall // wall time, see Runtime.Wall
	IP        string       // empty once stopped
}

// ContainerState is the state of a container in the runtime.
type ContainerState string

const (
	Created ContainerState = "created"
	Running ContainerState = "running"
	Exited  ContainerState = "exited"
)

// Container is the status of a container.
type Container struct {
	ID         string
	SandboxID  string
	PodUID     string
	Namespace  string
	PodName    string
	Name       string
	Image      string
	Attempt    int // the attempt of the CreateContainer call
	Instance   int // unique in the pod for this name: the Attempt, or the next free number
	State      ContainerState
	CreatedAt  virtual.Wall // wall time, see Runtime.Wall
	StartedAt  virtual.Wall // if State is Running or Exited
	FinishedAt virtual.Wall // if State is Exited
	ExitCode   int32
	Reason     string // if State is Exited: Completed, Error, or the reason of a kill from outside
	Step       int64  // step of the latest record about its start or exit, or the cause of its creation
}

// kind is the latency of a method and its place in the order of one instant.
type kind struct {
	delay DelayKind
	class class
}

// kinds has the methods with a latency that scenarios can set, and HTTPBody.
var kinds = map[Method]kind{
	RunPodSandbox:    {DelayRunPodSandbox, changes},
	StopPodSandbox:   {DelayStopPodSandbox, changes},
	RemovePodSandbox: {DelayRemovePodSandbox, changes},
	PodSandboxStatus: {DelayPodSandboxStatus, reads},
	ListPodSandbox:   {DelayListPodSandbox, reads},
	CreateContainer:  {DelayCreateContainer, changes},
	StartContainer:   {DelayStartContainer, changes},
	StopContainer:    {DelayStopContainer, changes},
	RemoveContainer:  {DelayRemoveContainer, changes},
	ContainerStatus:  {DelayContainerStatus, reads},
	ListContainers:   {DelayListContainers, reads},
	ImageStatus:      {DelayImageStatus, reads},
	PullImage:        {DelayImagePull, reads},
	ExecSync:         {DelayExec, answers},
	HTTPGet:          {DelayHTTPGet, answers},
	TCPSocket:        {DelayTCPSocket, answers},
	GRPC:             {DelayGRPC, answers},
	HTTPBody:         {delayHTTPBody, answers},
}

// effects are the effects of the methods that change something and return at once.
var effects = map[Method]func(*Runtime, *Op) error{
	RunPodSandbox:    (*Runtime).runPodSandbox,
	StopPodSandbox:   (*Runtime).stopPodSandbox,
	RemovePodSandbox: (*Runtime).removePodSandbox,
	CreateContainer:  (*Runtime).createContainer,
	StartContainer:   (*Runtime).startContainer,
	RemoveContainer:  (*Runtime).removeContainer,
}

// begin starts a CRI call. All methods have a latency except Status, during which the kubelet holds
// a lock, and UpdateContainerResources.
func (r *Runtime) begin(op *Op) {
	k, known := kinds[op.Call.Method]
	switch {
	case known:
		op.End = later(r.now, r.resolve(op).delay(r.now, k.delay))
		op.fault = r.faultOf(op)
		if err := op.reserve(); err != nil {
			r.finish(op, err)
			return
		}
	case op.Call.Method == ListImages:
		k.class, op.End = reads, later(r.now, listImages)
	case op.Call.Method == Status:
		op.fault = r.faultOf(op)
		op.Conditions = r.health.conditions()
		r.finish(op, nil)
		return
	case op.Call.Method == UpdateContainerResources:
		if r.resolve(op); op.container == nil {
			r.finish(op, errNotFound("container", op.Call.ContainerID))
			return
		}
		op.fault = r.faultOf(op)
		r.finish(op, nil)
		return
	default:
		r.finish(op, fmt.Errorf("the container runtime does not know the method %q", op.Call.Method))
		return
	}
	op.event.op = op
	r.queue.schedule(&op.event, op.End, k.class)
	r.limit(op, op.End)
}

// Takes returns the latency of a list call about all pods that begins at a time.
func (r *Runtime) Takes(at virtual.Time, list Method) time.Duration {
	if k, known := kinds[list]; known {
		return r.scope.delay(at, k.delay)
	}
	return listImages
}

// resolve finds the objects of a call, and returns the scope whose delays apply.
func (r *Runtime) resolve(op *Op) *scope {
	c := &op.Call
	op.container, op.sandbox, op.pod = find(r.containers, c.ContainerID), find(r.sandboxes, c.SandboxID),
		find(r.pods, c.PodUID)
	name := ""
	switch {
	case op.container != nil:
		op.pod, name = op.container.pod, op.container.Name
	case op.sandbox != nil:
		op.pod = op.sandbox.pod
	}
	if c.Name != "" {
		name = c.Name
	}
	return r.scopeOf(op.pod, name)
}

// find returns an object by its ID, nil for an empty ID.
func find[T any](objects map[string]*T, id string) *T {
	if id == "" {
		return nil
	}
	return objects[id]
}

// complete applies the effect of a call at its end. Objects that were removed during the call count
// as not found.
func (r *Runtime) complete(op *Op) {
	if op.container != nil && op.container.removed {
		op.container = nil
	}
	if op.sandbox != nil && op.sandbox.removed {
		op.sandbox = nil
	}
	effect := effects[op.Call.Method]
	switch {
	case op.hasNoEffect():
		r.abort(op)
		r.finish(op, op.fault.Err())
	case op.Call.Method == StopContainer:
		r.stopContainer(op)
	case effect != nil:
		r.finish(op, effect(r, op))
	default:
		r.finish(op, r.read(op))
	}
}

// read answers a call that changes nothing.
func (r *Runtime) read(op *Op) error {
	c := &op.Call
	views := &r.all
	if c.PodUID != "" {
		if op.pod == nil {
			return nil
		}
		views = &op.pod.views
	}
	if c.OnlyChanged {
		r.readChanged(op)
		return nil
	}
	switch c.Method {
	case ListPodSandbox:
		op.Sandboxes = views.listSandboxes(c.Ready)
	case ListContainers:
		op.Containers = views.listContainers(c.Running)
	case PodSandboxStatus:
		if op.sandbox == nil {
			return errNotFound("sandbox", c.SandboxID)
		}
		op.Sandboxes = []Sandbox{op.sandbox.Sandbox}
	case ContainerStatus:
		if op.container == nil {
			return errNotFound("container", c.ContainerID)
		}
		op.Containers = []Container{op.container.Container}
	case PullImage:
		if r.health.RegistryDown {
			return errPull(c.Image)
		}
		op.ID = c.Image
	case ImageStatus:
		op.ID = c.Image
	}
	return nil
}

func errNotFound(what, id string) error {
	return rpcError("NotFound", "an error occurred when try to find %s %q: not found", what, id)
}

// opState is the part of an Op that only the runtime uses.
type opState struct {
	event     event
	expiry    event      // the deadline, if it is before the end
	abandoned bool       // the caller has gone
	fault     *Fault     // that makes the call fail; nil: none
	returns   bool       // a StopContainer whose process has ended
	reserved  string     // the name in the runtime of the object to create
	pod       *pod       // the pod of the call; nil: unknown
	sandbox   *sandbox   // nil: none
	container *container // nil: none
	request   request
}

// Submit begins a call at time now. Events that are due until now happen first. If Done is true in
// the result, Advance does not return the Op again. Time does not go back: a now before the latest
// time counts as the latest time.
func (r *Runtime) Submit(now virtual.Time, c Call) *Op {
	r.run(now)
	op := r.newOp(c)
	r.submitted = op
	switch {
	case (r.health.Down || c.Unconnected) && !c.Method.IsNetwork():
		r.resolve(op)
		r.finish(op, errDown)
	case c.Method.asksProgram():
		r.beginRequest(op)
	default:
		r.begin(op)
	}
	r.run(now)
	r.submitted = nil
	return op
}

// Next returns the time at which the driver must call Advance next, or false if there is no such
// time. It is not before the latest time. Every Submit and Advance can change it.
func (r *Runtime) Next() (at virtual.Time, ok bool) {
	if len(r.done) > 0 {
		return r.now, true
	}
	at = r.queue.next()
	return at, at != never
}

// Advance moves the time to now, lets everything happen that is due until then, and returns the
// calls that ended since the last Advance, in the order of their ends. The slice is valid until the
// next Advance.
func (r *Runtime) Advance(now virtual.Time) []*Op {
	r.run(now)
	clear(r.handed)
	r.done, r.handed = r.handed[:0], r.done
	sortRequests(r.handed)
	return r.handed
}

// sortRequests sorts the requests that end at one instant by container and probe, because the order
// in which they began at one instant has no meaning.
func sortRequests(ops []*Op) {
	for len(ops) > 1 {
		n := 0
		for n < len(ops) && ops[n].Call.Method.asksProgram() && ops[n].End == ops[0].End {
			n++
		}
		if n > 1 {
			slices.SortStableFunc(ops[:n], func(a, b *Op) int {
				return cmp.Or(cmp.Compare(a.containerID(), b.containerID()),
					cmp.Compare(probeOrder[a.Call.Probe], probeOrder[b.Call.Probe]))
			})
		}
		ops = ops[max(n, 1):]
	}
}

// probeOrder is the order in which the kubelet creates the probe workers of a container.
var probeOrder = map[trace.Probe]int{trace.Startup: 0, trace.Readiness: 1, trace.Liveness: 2}

// Release returns an Op that is done for reuse by a later call. The caller must not use the Op
// again; its slices stay valid. Calling Release is optional.
func (r *Runtime) Release(op *Op) {
	if op.Done && len(r.free) < maxFree {
		*op = Op{}
		r.free = append(r.free, op)
	}
}

// maxFree is the number of Ops that the runtime keeps for reuse.
const maxFree = 1 << 12

func (r *Runtime) newOp(c Call) *Op {
	n := len(r.free)
	if n == 0 {
		return &Op{Call: c, Start: r.now}
	}
	op := r.free[n-1]
	r.free = r.free[:n-1]
	op.Call, op.Start = c, r.now
	return op
}

// run handles all events until a time.
func (r *Runtime) run(now virtual.Time) {
	now = min(now, never-1)
	for at := r.queue.next(); at <= now; at = r.queue.next() {
		r.now = at
		r.handle(r.queue.pop())
	}
	r.now = max(r.now, now)
}

func (r *Runtime) handle(e *event) {
	switch {
	case e.process != nil:
		r.process(e.process)
	case e.expires:
		r.expire(e.op)
	case e.op.Call.Method.asksProgram():
		r.continueRequest(e.op)
	default:
		r.complete(e.op)
	}
}

// finish ends a call.
func (r *Runtime) finish(op *Op, err error) {
	op.Done, op.End, op.Err, op.Generation = true, r.now, err, r.generation
	r.queue.cancel(&op.expiry)
	if err != nil {
		op.release()
	}
	if op.abandoned {
		return
	}
	if op.fault != nil {
		r.fail(op)
	}
	if r.recordCalls && !op.Call.Method.IsNetwork() {
		r.recordCall(op)
	}
	if op != r.submitted {
		r.done = append(r.done, op)
	}
}

// RecordsCalls reports whether each call leaves a record: Options.RecordCalls.
func (r *Runtime) RecordsCalls() bool { return r.recordCalls }

func (r *Runtime) recordCall(op *Op) {
	rec := op.subject()
	rec.T, rec.Kind, rec.Cause, rec.Took = op.End, trace.CRICall, op.Call.Cause, op.End.Sub(op.Start)
	rec.Reason, rec.Probe = string(op.Call.Method), op.Call.Probe
	if op.Err != nil {
		rec.Message = op.Err.Error()
	}
	r.record(rec)
}

// subject returns a record with the pod and the container of a call.
func (op *Op) subject() (rec trace.Record) {
	if op.pod != nil {
		rec.Pod = op.pod.Namespace + "/" + op.pod.Name
	}
	if op.container != nil {
		rec.Container, rec.Instance = op.container.Name, op.container.Instance
	}
	return rec
}

// markChanged notes a change of a sandbox or container of a pod.
func (r *Runtime) markChanged(p *pod) {
	r.generation++
	r.changes = append(r.changes, p)
	r.all.changed()
	p.views.changed()
}

// rpcError is an error with the text that a gRPC client shows.
func rpcError(code, format string, args ...any) error {
	return fmt.Errorf(rpcPrefix+"%s desc = %s", code, fmt.Sprintf(format, args...))
}

const rpcPrefix = "rpc error: code = "

// Answer returns the result of a list or status call that ends now. It is for drivers that handle
// the latency (Delay) of the call themselves.
func (r *Runtime) Answer(now virtual.Time, c Call) *Op {
	r.run(now)
	op := r.newOp(c)
	r.submitted = op
	r.resolve(op)
	switch {
	case r.health.Down || c.Unconnected:
		r.finish(op, errDown)
	case c.Method == Status:
		r.begin(op)
	default:
		op.Done, op.End, op.Generation, op.Err = true, r.now, r.generation, r.read(op) // the driver records the call
	}
	r.submitted = nil
	return op
}
