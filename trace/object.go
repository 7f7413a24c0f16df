package trace

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Observable kinds of a control plane, which only runs with controllers have. Their Object has the
// fields.
const (
	// the API server stores a Deployment or ReplicaSet, or its status; Reason is spec or status,
	// Workload
	WorkloadChanged Kind = "WorkloadChanged"
	// the API server stores another number of replicas of a ReplicaSet; From, To
	Scaled           Kind = "Scaled"
	PodScheduled     Kind = "PodScheduled"     // the scheduler binds a pod; Message is the node
	EndpointsWritten Kind = "EndpointsWritten" // the API server stores an EndpointSlice; Endpoints of its Service
	// a program closes or opens its listener for new connections; Reason is opened or closed
	ListenerChanged Kind = "ListenerChanged"
	// a router sends requests to other pods from now on; Reason is the router, Endpoints are its
	// targets, Took since the change that it follows
	RoutesChanged Kind = "RoutesChanged"
	LossStarted   Kind = "LossStarted" // requests begin to be lost; Pod or none, Reason, Loss
	// they are no longer lost, or were lost at this instant; Pod or none, Reason, Took since the
	// start, Loss with the number lost
	LossEnded Kind = "LossEnded"
)

// SyncFailed is an internal kind: a controller ends a sync with an error, and tries it again later;
// Object, Reason is the controller, Message the error.
const SyncFailed Kind = "SyncFailed"

// Object is the part of a record that is about an object other than a pod.
type Object struct {
	// Name is the kind and the namespace/name of the object, such as "ReplicaSet default/web-1". In
	// a record PodAdded it is the owner of the pod.
	Name      string     `json:"object"`
	From      int32      `json:"from,omitempty"`
	To        int32      `json:"to,omitempty"`
	Workload  *Workload  `json:"workload,omitempty"`
	Endpoints []Endpoint `json:"endpoints,omitempty"` // by pod
	Loss      *Loss      `json:"loss,omitempty"`
}

// Workload is the state of a Deployment or a ReplicaSet. Status fields have the names of the API.
type Workload struct {
	Desired     int32             `json:"desired"` // spec.replicas
	Replicas    int32             `json:"replicas"`
	Updated     int32             `json:"updated,omitempty"` // of a Deployment
	Ready       int32             `json:"ready"`
	Available   int32             `json:"available"`
	Terminating int32             `json:"terminating,omitempty"`
	Generation  int64             `json:"generation"`
	Observed    int64             `json:"observedGeneration"`
	Revision    string            `json:"revision,omitempty"`
	Conditions  []ObjectCondition `json:"conditions,omitempty"` // by type
}

// ObjectCondition is a condition of a workload.
type ObjectCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Endpoint is a pod of a Service.
type Endpoint struct {
	Pod         string `json:"pod"` // namespace/name
	Ready       bool   `json:"ready"`
	Serving     bool   `json:"serving"`
	Terminating bool   `json:"terminating"`
}

// Loss is what part of the requests to a Service is lost.
type Loss struct {
	Router string `json:"router"`
	// Rate is the number of requests a second that are sent to the Service, and One of Of of them
	// are lost: one of three, for example.
	Rate float64 `json:"rate"`
	One  int     `json:"one"`
	Of   int     `json:"of"`
	// Lost is the number of requests that are lost until the end, of a LossEnded.
	Lost float64 `json:"lost"`
}

// Controlled reports whether records of the kind are about a control plane: they have an Object.
func (k Kind) Controlled() bool {
	switch k {
	case WorkloadChanged, Scaled, PodScheduled, EndpointsWritten, ListenerChanged, RoutesChanged, LossStarted,
		LossEnded:
		return true
	}
	return false
}

// appendObject appends the fields of an object, if the record has one.
func appendObject(dst []byte, r *Record) []byte {
	if r.Object == nil {
		return dst
	}
	text, err := json.Marshal(r.Object)
	if err != nil {
		panic(err) // objects have no value that JSON lacks
	}
	return append(append(dst, ','), text[1:len(text)-1]...)
}

// String formats the object for people, on one line.
func (o *Object) String() string {
	if o == nil {
		return ""
	}
	parts := []string{o.Name}
	if w := o.Workload; w != nil {
		parts = append(parts, w.String())
	}
	if o.From != o.To {
		parts = append(parts, fmt.Sprintf("from %d to %d", o.From, o.To))
	}
	var targets []string
	for _, e := range o.Endpoints {
		targets = append(targets, e.String())
	}
	if len(targets) > 0 {
		parts = append(parts, "["+strings.Join(targets, ", ")+"]")
	}
	if l := o.Loss; l != nil {
		parts = append(parts, fmt.Sprintf("%d/%d of %g/s by %s", l.One, l.Of, l.Rate, l.Router))
		if l.Lost != 0 {
			parts = append(parts, fmt.Sprintf("lost %.1f", l.Lost))
		}
	}
	return strings.Join(parts, " ")
}

// String formats the state for people, on one line.
func (w *Workload) String() string {
	text := fmt.Sprintf("desired %d, replicas %d, updated %d, ready %d, available %d, terminating %d, generation %d/%d",
		w.Desired, w.Replicas, w.Updated, w.Ready, w.Available, w.Terminating, w.Observed, w.Generation)
	for _, c := range w.Conditions {
		text += ", " + join(c.Type+"="+c.Status, c.Reason)
	}
	return text
}

// String formats the endpoint for people: its pod, and what keeps it from being ready.
func (e Endpoint) String() string {
	switch name := PodName(e.Pod); {
	case e.Ready:
		return name
	case e.Serving && e.Terminating:
		return name + " (terminating, serving)"
	case e.Terminating:
		return name + " (terminating)"
	default:
		return name + " (not ready)"
	}
}

// memory returns the size of an object in bytes, for Size.
func (o *Object) memory() int64 {
	size := int64(96 + len(o.Name) + 48*len(o.Endpoints))
	if o.Workload != nil {
		size += 96 + 48*int64(len(o.Workload.Conditions))
	}
	return size
}

// Complete reports whether a rollout of a Deployment has ended: 'kubectl rollout status' then ends.
func (w *Workload) Complete() bool {
	return w.Updated == w.Desired && w.Replicas == w.Desired && w.Available == w.Desired && w.Observed >= w.Generation
}

// Condition returns a condition of a workload, which is zero if there is none.
func (w *Workload) Condition(name string) ObjectCondition {
	for _, c := range w.Conditions {
		if c.Type == name {
			return c
		}
	}
	return ObjectCondition{}
}
