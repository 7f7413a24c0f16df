// Package trace holds the records of a run: what the kubelet was seen to do, in the order of virtual
// time. The trace is the contract between the engines and everything that reads them: timelines,
// expectations, reports and the comparison with the real kubelet are all computed from it.
//
// Observable records are written by both engines, the simulator and the real kubelet under virtual
// time. Internal records say how the simulator got there and are written only when asked for.
package trace

import (
	"time"

	"probesim.dev/sim/virtual"
)

// Kind says what a record is about.
type Kind string

// Observable kinds, written by both engines.
const (
	PodAdded           Kind = "PodAdded"           // the API server has the pod
	PodDeleteRequested Kind = "PodDeleteRequested" // deletionTimestamp is set
	PodRemoved         Kind = "PodRemoved"         // the API server no longer has the pod
	ContainerStarted   Kind = "ContainerStarted"   // StartContainer has returned
	ContainerStopping  Kind = "ContainerStopping"  // the stop signal is sent; GraceSeconds, Reason
	ContainerExited    Kind = "ContainerExited"    // the process is gone; ExitCode
	ProbeExecuted      Kind = "ProbeExecuted"      // a probe run has ended; Probe, Result, Message, Took
	StatusPatched      Kind = "StatusPatched"      // the API server has applied a status patch; Status
	Event              Kind = "Event"              // Type, Reason, Message
	KubeletStopped     Kind = "KubeletStopped"
	KubeletStarted     Kind = "KubeletStarted"
	Step               Kind = "Step" // somebody does something; Reason is the step of the scenario, Message what there is to say
)

// Internal kinds, written by the simulator only, and CRICall and TriggerTaken by both engines, when asked for.
const (
	CRICall       Kind = "CRICall"       // a call to the container runtime or the API server has returned; Reason, Took
	ResultChanged Kind = "ResultChanged" // the probe result cache has a new value; Probe, Message
	ManualTrigger Kind = "ManualTrigger" // a readiness worker is asked to probe at once
	TriggerTaken  Kind = "TriggerTaken"  // it takes that, and its period begins anew; Probe
	SyncLoop      Kind = "SyncLoop"      // the sync loop handles one case; Reason
	PodSync       Kind = "PodSync"       // a pod worker begins a sync; Reason is sync, terminating or terminated
	Relist        Kind = "Relist"        // a relist that found a change has ended; Reason is global or pod
	BackOff       Kind = "BackOff"       // a start is refused by the crash-loop back-off; Took is the back-off
	ProbeSkipped  Kind = "ProbeSkipped"  // a worker ticked and did not probe; Probe, Reason
	Choice        Kind = "Choice"        // a choice other than the canonical one; Reason is its key, Message its value
)

var observable = map[Kind]bool{
	PodAdded: true, PodDeleteRequested: true, PodRemoved: true,
	ContainerStarted: true, ContainerStopping: true, ContainerExited: true,
	ProbeExecuted: true, StatusPatched: true, Event: true,
	KubeletStopped: true, KubeletStarted: true, Step: true,
}

// StepOver is the message of a record about a step whose time is over.
const StepOver = "over"

// Observable reports whether both engines write records of this kind.
func (k Kind) Observable() bool { return observable[k] }

// Probe is the type of a probe: liveness, readiness or startup.
type Probe string

const (
	Liveness  Probe = "liveness"
	Readiness Probe = "readiness"
	Startup   Probe = "startup"
)

// Result is what the prober makes of one probe run.
type Result string

const (
	Success Result = "success"
	Failure Result = "failure"
	Warning Result = "warning" // counts as a success and leaves an event
	Error   Result = "error"   // the probe itself broke: the run counts as nothing
)

// Record is one thing that happened. Which fields are set depends on Kind; see the constants.
type Record struct {
	Step  int64        // number of the record in its run, from 1
	T     virtual.Time // virtual time since t=0 of the scenario; negative before it
	Kind  Kind
	Cause int64 // Step of the record that caused this one; 0 if not known

	Pod       string // namespace/name; empty for records about the node
	Container string // container name; empty for records about a pod
	Instance  int    // of Container: 0 is its first run in the pod, 1 the first restart, …

	Probe        Probe
	Result       Result
	Took         time.Duration // how long what ends at T lasted
	GraceSeconds int64
	ExitCode     int32
	Type         string // of an Event: Normal or Warning
	Reason       string
	Message      string
	Status       *PodStatus // of StatusPatched
}

// PodStatus is the part of a pod's status that the trace shows, as the API server has it.
// Statuses in a trace are shared and must not be changed.
type PodStatus struct {
	Phase           string            `json:"phase"`
	Reason          string            `json:"reason,omitempty"`
	Initialized     bool              `json:"initialized"`
	ContainersReady bool              `json:"containersReady"`
	Ready           bool              `json:"ready"`
	Containers      []ContainerStatus `json:"containers"` // init containers first, then regular ones, in spec order
}

// ContainerStatus is the state of one container in a PodStatus.
type ContainerStatus struct {
	Name         string `json:"name"`
	State        string `json:"state"` // waiting, running or terminated
	Reason       string `json:"reason,omitempty"`
	ExitCode     int32  `json:"exitCode"` // of a terminated container; 0 otherwise
	Ready        bool   `json:"ready"`
	Started      bool   `json:"started"` // nil counts as false
	RestartCount int32  `json:"restartCount"`
}
