package tune

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"
)

// Report is the result of a search. Its JSON form is stable: fields are only added.
type Report struct {
	Kubernetes []string   `json:"kubernetes"` // versions, oldest first
	Delays     string     `json:"delays"`     // name of the latencies of the nodes
	Workloads  []Workload `json:"workloads"`
}

// Workload is the result for an object that creates pods.
type Workload struct {
	Kind         string   `json:"kind"`
	Namespace    string   `json:"namespace,omitempty"`
	Name         string   `json:"name"`
	File         string   `json:"file"`
	Line         int      `json:"line"`
	Requirements []string `json:"requirements"`
	// Impossible lists the requirements that no setting meets because a container has no probe for
	// them.
	Impossible []string `json:"impossible,omitempty"`
	// Missing says the same with the containers.
	Missing    []Missing   `json:"missing,omitempty"`
	Problem    string      `json:"problem,omitempty"` // why the workload could not be checked
	Containers []Container `json:"containers"`        // containers on which the requirements depend
	Grace      *Grace      `json:"grace,omitempty"`   // of the pod, if the programs need more time to exit

	template string // path of the pod template in the object
}

// Title is the name of a workload for people.
func (w *Workload) Title() string { return manifests.Title(w.Kind, w.Namespace, w.Name) }

// Missing is a requirement for which some containers have no probe.
type Missing struct {
	Requirement string   `json:"requirement"`
	Containers  []string `json:"containers"`
	Reason      string   `json:"reason"`
}

func (m Missing) String() string { return m.Requirement + ": " + m.Reason }

// Container is the result for a container.
type Container struct {
	Name string `json:"name"`
	Init bool   `json:"init,omitempty"` // a restartable init container
	// Met reports whether there is a setting that meets the requirements.
	Met     bool     `json:"met"`
	Changes []Change `json:"changes"` // empty if the requirements are met already, or if no setting meets them
	// Margins are those of the setting after the changes.
	Margins []Margin `json:"margins,omitempty"`
	// Costs are the rows that the changes make worse.
	Costs []Cost `json:"costs,omitempty"`
	Note  string `json:"note,omitempty"`  // on what the requirements leave out
	Tight bool   `json:"tight,omitempty"` // no setting has the margin: this one just meets the requirements
	// Why has the reasons why no setting meets the requirements, each in a sentence.
	Why      []string `json:"why,omitempty"`
	Settings int      `json:"settings"` // rows of settings that were computed

	now   setting          // with the changes
	added [kinds]*v1.Probe // new probes
}

// Tuned reports whether there is a result. There is none if the container is the Problem of its
// workload.
func (c *Container) Tuned() bool { return c.Met || len(c.Why) > 0 }

// Change is a field that changes.
type Change struct {
	Field  string `json:"field"`            // of the container
	Before *int32 `json:"before,omitempty"` // nil if the probe is new
	After  int32  `json:"after"`

	place place
}

// From is the value before for people.
func (c Change) From() string {
	if c.Before == nil {
		return "none"
	}
	return fmt.Sprint(*c.Before)
}

// Margin says by how much a requirement is met.
type Margin struct {
	Requirement string        `json:"requirement"`
	Value       value.Seconds `json:"value"`
	Margin      value.Seconds `json:"margin"`
}

// ValueText is the value for people.
func (m Margin) ValueText() string {
	if strings.Contains(m.Requirement, ">=") {
		return check.FormatDown(m.Value)
	}
	return check.FormatTime(m.Value)
}

// Met reports whether all requirements can be met.
func (r *Report) Met() bool {
	return !slices.ContainsFunc(r.Workloads, func(w Workload) bool {
		return len(w.Impossible) > 0 || slices.ContainsFunc(w.Containers, func(c Container) bool { return !c.Met })
	})
}

// Problems reports whether a workload could not be checked.
func (r *Report) Problems() bool {
	return slices.ContainsFunc(r.Workloads, func(w Workload) bool { return w.Problem != "" })
}

// Changed reports whether a container changes.
func (r *Report) Changed() bool {
	return slices.ContainsFunc(r.Workloads, func(w Workload) bool {
		return w.Grace != nil || slices.ContainsFunc(w.Containers, func(c Container) bool { return len(c.Changes) > 0 })
	})
}
