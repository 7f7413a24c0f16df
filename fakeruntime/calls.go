package fakeruntime

import (
	"fmt"
	"time"

	"probesim.dev/sim/virtual"
)

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
