package fakeruntime

import (
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
