package fakeruntime

import (
	"time"

	"probesim.dev/sim/trace"
)

// Method is a call of the container runtime interface, named as cri-api names it.
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
	ContainerStatus  Method = "ContainerStatus"
	ListContainers   Method = "ListContainers"
	ExecSync         Method = "ExecSync"
	ImageStatus      Method = "ImageStatus"
	PullImage        Method = "PullImage"
	ListImages       Method = "ListImages"
	Status           Method = "Status"
)

// ImageSize is the size in bytes of every image, as events about pulls show it.
const ImageSize = 1 << 20

// Call is a call to the runtime. Which fields are read depends on Method.
type Call struct {
	Method Method
	Cause  int64 // step of the trace record that caused the call, 0 if not known

	PodUID      string // RunPodSandbox; List calls: only this pod's; image calls: whose delays
	Attempt     int    // RunPodSandbox, CreateContainer: 0 for the first
	SandboxID   string // PodSandboxStatus, StopPodSandbox, RemovePodSandbox, CreateContainer
	ContainerID string // StartContainer, StopContainer, RemoveContainer, ContainerStatus, ExecSync
	Name        string // CreateContainer: the container's name in the pod; image calls: whose delays
	Image       string // CreateContainer, ImageStatus, PullImage

	// OnlyChanged has a list call of all pods leave out those in which nothing has changed after the
	// Generation Since: a caller that knows the rest spares the runtime the work.
	OnlyChanged bool
	Since       uint64

	Ready   bool // ListPodSandbox: only ready sandboxes
	Running bool // ListContainers: only running containers

	GraceSeconds int64  // StopContainer: whole seconds from the stop signal to SIGKILL
	StopReason   string // StopContainer: Reason of the ContainerStopping record

	Probe   trace.Probe   // ExecSync: whose command it is; empty for a lifecycle hook
	Hook    string        // ExecSync: postStart or preStop, if it is a hook
	Command []string      // ExecSync: for error messages only
	Timeout time.Duration // ExecSync: 0 for none
	Retry   bool          // ExecSync: the kubelet tries the same probe run again after a runtime error
}

// Op is a call under way or done. The fields after Done are valid once Done is set. The slices are
// shared and must not be changed.
type Op struct {
	Call  Call
	Start time.Duration // when it was submitted
	End   time.Duration // when it is known to end; meaningless while that depends on what happens
	Done  bool

	Err      error  // the runtime could not do it
	ID       string // what was created; image calls: the reference of the image
	ExitCode int32  // ExecSync
	Output   string // ExecSync: what the command wrote
	TimedOut bool   // ExecSync: the command was still running when Timeout was over; Err is set too

	Changed    []string    // UIDs of the pods that a list call with OnlyChanged is about, gone ones too
	Sandboxes  []Sandbox   // ListPodSandbox, PodSandboxStatus: newest first
	Containers []Container // ListContainers, ContainerStatus: newest first
	Generation uint64      // of the runtime when the call ended

	// Waiter belongs to whoever submitted the call.
	Waiter any

	opState
}

// Sandbox is what the runtime says of a pod sandbox.
type Sandbox struct {
	ID        string
	PodUID    string
	Namespace string
	PodName   string
	Attempt   int
	Ready     bool
	CreatedAt time.Duration // virtual time since t=0
	IP        string        // empty once stopped
}

// ContainerState is the state of a container as the runtime has it.
type ContainerState string

const (
	Created ContainerState = "created"
	Running ContainerState = "running"
	Exited  ContainerState = "exited"
)

// Container is what the runtime says of a container.
type Container struct {
	ID         string
	SandboxID  string
	PodUID     string
	Namespace  string
	PodName    string
	Name       string
	Image      string
	Attempt    int // as the caller counts
	Instance   int // 0 for the first of its name in the pod, and never the same again: the Attempt, unless that starts over
	State      ContainerState
	CreatedAt  time.Duration // virtual times since t=0
	StartedAt  time.Duration // if State is Running or Exited
	FinishedAt time.Duration // if State is Exited
	ExitCode   int32
	Reason     string // of an exited container: Completed or Error
	Step       int64  // of the trace record of its start or exit, the later one; 0 if there is none
}
