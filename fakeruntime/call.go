package fakeruntime

import (
	"time"

	"probesim.dev/trace"
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

// What a kubelet asks of the program in a container over the network; these are no calls of the CRI.
const (
	HTTPGet   Method = "HTTPGet"
	TCPSocket Method = "TCPSocket"
	GRPC      Method = "GRPC" // a health check
)

// ImageSize is the size in bytes of every image, as events about pulls show it.
const ImageSize = 1 << 20

// Call is a call to the runtime. Which fields are read depends on Method.
type Call struct {
	Method Method
	Cause  int64 // step of the trace record that caused the call, 0 if not known

	PodUID      string // RunPodSandbox; List calls: only this pod's; image calls: whose delays; the network: whose IP
	Attempt     int    // RunPodSandbox, CreateContainer: 0 for the first
	SandboxID   string // PodSandboxStatus, StopPodSandbox, RemovePodSandbox, CreateContainer
	ContainerID string // StartContainer, StopContainer, RemoveContainer, ContainerStatus, ExecSync
	Name        string // CreateContainer: the container's name in the pod; image calls: whose delays; the network: who listens
	Image       string // CreateContainer, ImageStatus, PullImage

	// OnlyChanged limits a list call of all pods to the pods that changed after the Generation Since. A caller that
	// remembers the other pods gets a short answer from a node with many pods.
	OnlyChanged bool
	Since       uint64
	// AndOthers: with OnlyChanged: the answer also lists the pods that did not change. Op.Changed names only those
	// that did.
	AndOthers bool

	// KeepLogs: RemoveContainer: its logs stay, and count for NextAttempt.
	KeepLogs bool

	Ready   bool // ListPodSandbox: only ready sandboxes
	Running bool // ListContainers: only running containers

	StopSignal int // CreateContainer: the number of the stop signal; 0 for SIGTERM

	GraceSeconds int64  // StopContainer: whole seconds from the stop signal to SIGKILL
	StopReason   string // StopContainer: Reason of the ContainerStopping record

	Probe   trace.Probe   // ExecSync, the network: whose it is; empty for a lifecycle hook
	Hook    string        // ExecSync, HTTPGet: postStart or preStop, if it is a hook
	Command []string      // ExecSync: for error messages only
	Timeout time.Duration // ExecSync, the network: 0 for none
	// Retry: the request belongs to the probe run of the one before it, which broke or could not connect.
	Retry bool
	// Followed: HTTPGet: the request follows what answered the one before it: a redirect, or HTTP where HTTPS was meant.
	Followed bool
	// Handshake is how long the caller waits for a program that accepts a connection and says nothing; 0
	// for as long as the Timeout is. Only a program that is frozen says nothing.
	Handshake time.Duration
	// Ref: ExecSync: what a call before it said of the container (Op.Ref); the zero Ref says nothing.
	Ref Ref
}

// Ref is where a container is: it spares the runtime to look an ID up.
type Ref struct{ container *container }

// Ref returns where the container is that the call was about, if there is one.
func (op *Op) Ref() Ref { return Ref{op.container} }

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
	TimedOut bool   // ExecSync, the network: there was no answer when Timeout was over; of ExecSync Err is set too
	// The network: whether the connection was accepted, which is known at once, and until when the program
	// has been frozen since, 0 if it never was. Silent: nothing was accepted, or nothing said, to the end.
	Accepted    bool
	FrozenUntil time.Duration
	Silent      bool
	Reply       Reply   // the network
	Answer      *Answer // the network: what was answered; not to be changed

	Conditions []Condition // Status
	Changed    []string    // UIDs of the pods that changed, for a list call with OnlyChanged; removed pods included
	Sandboxes  []Sandbox   // ListPodSandbox, PodSandboxStatus: in order of creation, the last first
	Containers []Container // ListContainers, ContainerStatus: the newest by CreatedAt first
	Generation uint64      // of the runtime when the call ended

	// Waiter belongs to whoever submitted the call.
	Waiter any

	opState
}

// Reply says what became of a request over the network that did not time out, or that it might as well have ended with
// NoHandshake.
type Reply int

const (
	Answered    Reply = iota + 1 // see Op.Answer
	Refused                      // nothing listens
	HungUp                       // accepted, then closed without an answer; with Op.Answer in the way of its TransportError
	NoHandshake                  // the time for it was over
)

// Sandbox is what the runtime says of a pod sandbox.
type Sandbox struct {
	ID        string
	PodUID    string
	Namespace string
	PodName   string
	Attempt   int
	Ready     bool
	CreatedAt time.Duration // by the wall clock: see Runtime.Wall
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
	CreatedAt  time.Duration // by the wall clock: see Runtime.Wall
	StartedAt  time.Duration // if State is Running or Exited
	FinishedAt time.Duration // if State is Exited
	ExitCode   int32
	Reason     string // of an exited container: Completed or Error
	Step       int64  // of the trace record of its start or exit, the later one; 0 if there is none
}
