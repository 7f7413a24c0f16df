// Package trace defines the records of a run, and reads, writes and hashes them.
//
// A trace lists what the kubelet does, in the order of virtual time: one [Record] for each start of
// a container, each probe result, each status patch, and so on. Timelines, expectations, reports
// and the comparison with the real kubelet are all computed from it.
//
// The simulator and the real kubelet under virtual time both write observable records. Internal
// records describe the inside of the simulator and exist only on request; see [Recorder].
//
// In a file, a trace has one JSON object on each line. [AppendJSON] writes a record, and [Reader]
// reads a file. [Hash] identifies a run by its observable records. The page docs/trace.md lists the
// fields of each kind.
package trace

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/lists"
	"probesim.dev/sim/virtual"
)

// Kind is the type of a record.
type Kind string

// Observable kinds, which the simulator and the real kubelet write. The comments name the fields of
// each kind.
const (
	PodAdded           Kind = "PodAdded"           // the API server stores the pod
	PodDeleteRequested Kind = "PodDeleteRequested" // the API server sets deletionTimestamp
	PodRemoved         Kind = "PodRemoved"         // the API server removes the pod
	ContainerStarted   Kind = "ContainerStarted"   // StartContainer of the container runtime returns
	ContainerStopping  Kind = "ContainerStopping"  // the runtime sends the stop signal; GraceSeconds, Reason
	ContainerExited    Kind = "ContainerExited"    // the process ends; ExitCode
	ProbeExecuted      Kind = "ProbeExecuted"      // a probe run ends; Probe, Result, Message, Took
	StatusPatched      Kind = "StatusPatched"      // the API server applies a status patch; Status
	Event              Kind = "Event"              // the kubelet emits an event; Type, Reason, Message
	ImagePullStarted   Kind = "ImagePullStarted"   // PullImage of the container runtime begins; Message is the image
	// PullImage of the container runtime returns; Result, Message is its error, Took
	ImagePullEnded Kind = "ImagePullEnded"
	HookStarted    Kind = "HookStarted" // a lifecycle hook begins; Reason is postStart or preStop
	HookEnded      Kind = "HookEnded"   // a lifecycle hook ends; Reason, Result, Message is its error, Took
	// a wait for the volumes of a pod ends, if it took any time; Reason is mount or unmount,
	// Result, Took
	VolumeWaitEnded Kind = "VolumeWaitEnded"
	KubeletStopped  Kind = "KubeletStopped" // the kubelet process ends
	KubeletStarted  Kind = "KubeletStarted" // the kubelet process starts again
	// a step of the scenario is executed; Reason is its action, Message its details
	Step Kind = "Step"
)

// Internal kinds. The simulator writes them on request; the real kubelet writes only CRICall and
// TriggerTaken. They may change with any version.
const (
	// a call to the container runtime or the API server returns; Reason is the method, Probe, Took,
	// Message is its error
	CRICall Kind = "CRICall"
	// the cache of probe results changes; Probe, Reason is the ID of the container, Message is the
	// new value
	ResultChanged Kind = "ResultChanged"
	ManualTrigger Kind = "ManualTrigger" // the kubelet triggers a readiness worker to probe immediately; Probe
	TriggerTaken  Kind = "TriggerTaken"  // the worker handles the trigger and resets its ticker; Probe
	SyncLoop      Kind = "SyncLoop"      // the sync loop handles one item; Reason is its source, Message
	PodSync       Kind = "PodSync"       // a pod worker starts a sync; Reason is sync, terminating or terminated
	// a relist that found a change ends; Reason is global or pod, Message is the UID of the pod
	Relist       Kind = "Relist"
	BackOff      Kind = "BackOff"      // the crash-loop back-off refuses a start; Took is the back-off
	ProbeSkipped Kind = "ProbeSkipped" // a probe worker ticks without probing; Probe, Reason says why
	// a program gets a request or exits; Probe, Reason is the hook or exit, Message is the number
	// of the rule that decides, from 1; empty: none
	Behavior Kind = "Behavior"
)

// StepOver is the Message of the Step record at the end of a step that lasts, such as a delay.
const StepOver = "over"

// RolloutStep is the Reason of the Step record of a change of a Deployment.
const RolloutStep = "rollout"

// ChangesProbes reports whether a record is that of a patch which can change probes of a pod. What
// the kubelet makes of it has events with the reason ProbeChanged, but a kubelet that does not run
// at the time makes none.
func (r *Record) ChangesProbes() bool {
	if r.Kind != Step || r.Reason != "patch" {
		return false
	}
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if strings.Contains(r.Message, probe) {
			return true
		}
	}
	return false
}

// ProbeChanged is the Reason of the Event record about a probe of a running pod that an update of
// the pod has added, changed or removed.
const ProbeChanged = "ContainerProbeChanged"

// Observable reports whether both the simulator and the real kubelet write records of this kind.
func (k Kind) Observable() bool {
	switch k {
	case PodAdded, PodDeleteRequested, PodRemoved, ContainerStarted, ContainerStopping, ContainerExited, ProbeExecuted,
		StatusPatched, Event,
		ImagePullStarted, ImagePullEnded, HookStarted, HookEnded, VolumeWaitEnded, KubeletStopped, KubeletStarted, Step:
		return true
	}
	return k.Controlled()
}

// Probe is the type of a probe.
type Probe string

const (
	Liveness  Probe = "liveness"
	Readiness Probe = "readiness"
	Startup   Probe = "startup"
)

// ProbeTypes lists the types of probes, in the order in which reports show them.
var ProbeTypes = []Probe{Startup, Liveness, Readiness}

// Result is the result of one probe run, after its immediate retries, or of another action of the
// kubelet: Success or Failure.
type Result string

const (
	Success Result = "success"
	Failure Result = "failure"
	Warning Result = "warning" // counts as a success, with a warning event
	Error   Result = "error"   // the probe could not run; the kubelet ignores the result
)

// Record is one entry of a trace. Its Kind determines which of the later fields are set; see the
// constants of Kind.
type Record struct {
	Step  int64        `json:"step"` // number of the record in its run, starting at 1
	T     virtual.Time `json:"t"`    // virtual time since t=0 of the scenario; may be negative
	Kind  Kind         `json:"kind"`
	Cause int64        `json:"cause"` // Step of an earlier record that caused this one; 0 if unknown

	Pod       string `json:"pod"`       // namespace/name; empty for records about the node
	Container string `json:"container"` // container name; empty for records about a pod
	Instance  int    `json:"instance"`  // 0 for the first run of the container, 1 after the first restart

	Probe        Probe         `json:"probe"`
	Result       Result        `json:"result"`
	Took         time.Duration `json:"took"`         // duration of the probe run, call or other action that ends at T
	GraceSeconds int64         `json:"graceSeconds"` // grace period of a ContainerStopping
	ExitCode     int32         `json:"exitCode"`
	Type         string        `json:"type"` // Normal or Warning, of an Event
	Reason       string        `json:"-"`    // reason in a file, where a status has one, too
	Message      string        `json:"message"`
	Status       *PodStatus    `json:"-"` // of a StatusPatched; nil counts as the zero status
	// of a record of the control plane, and of a PodAdded of a pod with an owner; nil otherwise
	Object *Object `json:"-"`
}

// PodStatus is the part of the pod status in the API server that traces contain. Records share
// statuses: do not modify them.
type PodStatus struct {
	Phase           string `json:"phase"` // Pending, Running, Succeeded or Failed
	Reason          string `json:"reason,omitempty"`
	Initialized     bool   `json:"initialized"`
	ContainersReady bool   `json:"containersReady"`
	Ready           bool   `json:"ready"`
	// init containers, then regular containers, in the order of the spec
	Containers []ContainerStatus `json:"containers"`
	// Details is the rest of the status, if the Recorder asks for it. It belongs to neither
	// [AppendObserved] nor the hash.
	Details *PodDetails `json:"details,omitempty"`
}

// ContainerStatus is the state of one container in a PodStatus.
type ContainerStatus struct {
	Name         string `json:"name"`
	State        string `json:"state"` // waiting, running or terminated
	Reason       string `json:"reason,omitempty"`
	ExitCode     int32  `json:"exitCode"` // 0 unless the container is terminated
	Ready        bool   `json:"ready"`
	Started      bool   `json:"started"` // false if the API has no value
	RestartCount int32  `json:"restartCount"`
	// Details is the rest of the status, as in PodStatus.
	Details *ContainerDetails `json:"details,omitempty"`
}

// ByStep returns the record with a step among records in the order of a trace, or nil.
func ByStep(records []Record, step int64) *Record {
	i, found := slices.BinarySearchFunc(records, step,
		func(r Record, step int64) int { return cmp.Compare(r.Step, step) })
	if !found {
		return nil
	}
	return &records[i]
}

// Count returns the number of records that match.
func Count(records []Record, match func(*Record) bool) int {
	n := 0
	for i := range records {
		if match(&records[i]) {
			n++
		}
	}
	return n
}

// PodDetails is the part of the pod status in the API server that a trace contains only on request.
// Times are the API's times, which are whole seconds of the wall clock, as virtual times on a node
// whose clock never steps.
type PodDetails struct {
	PodIPs     []string    `json:"podIPs,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"` // by type
}

// Condition is a condition of a pod.
type Condition struct {
	Type    string       `json:"type"`
	Status  string       `json:"status"` // True, False or Unknown
	Since   virtual.Time `json:"since"`  // the last transition
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
}

// ContainerDetails is the part of a container's status that a trace contains only on request.
type ContainerDetails struct {
	Image      string        `json:"image"`
	StartedAt  *virtual.Time `json:"startedAt,omitempty"`  // of a running or terminated container, if known
	FinishedAt *virtual.Time `json:"finishedAt,omitempty"` // of a terminated container, if known
	LastState  *Termination  `json:"lastState,omitempty"`  // the end of an earlier instance
}

// Termination is the end of an instance of a container.
type Termination struct {
	ExitCode   int32         `json:"exitCode"`
	Reason     string        `json:"reason,omitempty"`
	StartedAt  *virtual.Time `json:"startedAt,omitempty"`
	FinishedAt *virtual.Time `json:"finishedAt,omitempty"`
}

// Condition returns the condition of a type, or nil.
func (d *PodDetails) Condition(conditionType string) *Condition {
	return lists.Find(d.Conditions, func(x *Condition) bool { return x.Type == conditionType })
}

// appendDetails appends the details of a pod or container, if it has any.
func appendDetails[T any](dst []byte, details *T) []byte {
	if details == nil {
		return dst
	}
	text, err := json.Marshal(details)
	if err != nil {
		panic(err) // details have no value that JSON lacks
	}
	return append(append(dst, `,"details":`...), text...)
}

// memory returns the memory of the details, in bytes.
func (d *PodDetails) memory() int64 {
	if d == nil {
		return 0
	}
	return detailsSize + conditionSize*int64(len(d.Conditions))
}
