package trace

import (
	"encoding/json"

	"probesim.dev/internal/lists"
	"probesim.dev/sim/virtual"
)

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
