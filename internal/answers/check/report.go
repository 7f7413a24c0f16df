package check

import (
	"slices"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"

	v1 "k8s.io/api/core/v1"
)

// Report is the result of a check. Its JSON form is stable: fields are only added.
type Report struct {
	Kubernetes []string `json:"kubernetes"` // versions, oldest first
	Delays     string   `json:"delays"`     // name of the latencies of the nodes
	// how long the programs are known to take to start, if Options.Start says so without a name
	Start     *value.Interval `json:"start,omitempty"`
	Stop      *value.Interval `json:"stop,omitempty"` // and from SIGTERM to their exit
	Verdict   Verdict         `json:"verdict"`
	Workloads []Workload      `json:"workloads"`
	Others    []Other         `json:"others,omitempty"` // objects that are not checked
	// Excluded are the files that the configuration excludes.
	Excluded []string `json:"excluded,omitempty"`
}

// Other is an object that is not checked.
type Other struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Template string `json:"template,omitempty"` // path of the pod template in it, if it has one
}

// Workload is the result for an object that creates pods.
type Workload struct {
	Kind         string         `json:"kind"`
	Namespace    string         `json:"namespace,omitempty"`
	Name         string         `json:"name"`
	File         string         `json:"file"`
	Line         int            `json:"line"`
	Problem      string         `json:"problem,omitempty"` // why the workload, or a part of it, could not be checked
	Containers   []Container    `json:"containers"`        // containers that run as long as the pod
	Requirements []Verification `json:"requirements,omitempty"`
	Rollouts     []string       `json:"rollouts,omitempty"` // requirements that 'probesim rollout' judges
	// WithoutProbes are the containers without probes, except init containers that end.
	WithoutProbes []string `json:"withoutProbes,omitempty"`
	// NoReadiness says that a pod of the workload is Ready although the program need not be up,
	// because no container has a readiness probe, except perhaps sidecars. It is false if the pod
	// ends, as in a Job.
	NoReadiness bool `json:"noReadiness,omitempty"`
	running     int  // containers, except init containers that end
	// NotSimulated names what can decide what happens to the pods and has no part in the figures,
	// such as progressDeadlineSeconds.
	NotSimulated []string `json:"notSimulated,omitempty"`
	// Images has the image of each container, by name, also of those without probes. It is not part
	// of the JSON.
	Images map[string]string `json:"-"`
}

// Container is the result for a container. It need not have probes.
type Container struct {
	Name   string  `json:"name"`
	Line   int     `json:"line"`
	Probes []Probe `json:"probes"`
	// Sidecar says why the container is not an ordinary one: what Options.Start, Stop and Require
	// say without a name is not about it.
	Sidecar string          `json:"sidecar,omitempty"`
	Start   *value.Interval `json:"start,omitempty"` // how long it is known to take to start
	Stop    *value.Interval `json:"stop,omitempty"`  // and from SIGTERM to its exit

	Measured *Measured `json:"measured,omitempty"` // what its pods show; nil: there are none

	Limits []Limit `json:"limits"`
	Times  []Time  `json:"times"`
	// share of the starts that succeed, 0 to 1, if Options.Start is set
	StartShare *float64  `json:"startShare,omitempty"`
	Deleted    *Deletion `json:"deleted,omitempty"`
	// Kill is when a probe stops a container that never comes up. It is nil if none does.
	Kill *Kill `json:"kill,omitempty"`
	// Restarts are the starts of a container that never comes up, within 20 minutes after the
	// first.
	Restarts []value.Seconds `json:"restarts,omitempty"`
	Findings []Finding       `json:"findings,omitempty"`
	Ignored  []Finding       `json:"ignored,omitempty"` // findings that the manifest or Options.Ignore ignores
	Known    []Finding       `json:"known,omitempty"`   // findings that Options.Baseline has
	spec     *v1.Container
}

// HasProbes reports whether the container has a probe. It is true for one that no manifest has.
func (c *Container) HasProbes() bool { return c.spec == nil || hasProbes(c.spec) }

// Probe describes a probe.
type Probe struct {
	Type string `json:"type"` // startup, liveness or readiness
	Text string `json:"text"`
	Line int    `json:"line"`
}

// Limit is a row about how long something may last.
type Limit struct {
	Row    RowID         `json:"row"`
	Text   string        `json:"text"`
	Always value.Seconds `json:"always"` // up to this long it always goes well
	Never  value.Seconds `json:"never"`  // longer, it never does
	// Formula says how Always comes about, with its numbers. It is empty if there is no limit.
	Formula string  `json:"formula,omitempty"`
	Cases   []Range `json:"cases"` // for each case and version
}

// Time is a row about how long the kubelet takes.
type Time struct {
	Row   RowID          `json:"row"`
	Text  string         `json:"text"`
	Best  value.Seconds  `json:"best"`           // bounds.Never, also for Ready, whose best is not known
	Mean  *value.Seconds `json:"mean,omitempty"` // over the phases of the event, on a node in the middle of the delays
	Worst value.Seconds  `json:"worst"`
	// Formula says how Worst comes about, with its numbers. It is empty if it never comes.
	Formula string  `json:"formula,omitempty"`
	Cases   []Range `json:"cases"`
}

// Range is the range of a row in one case and one version.
type Range struct {
	Case       string        `json:"case,omitempty"`
	Kubernetes string        `json:"kubernetes"`
	Least      value.Seconds `json:"least"`
	Greatest   value.Seconds `json:"greatest"`
}

// Deletion is what happens after the deletion of the pod.
type Deletion struct {
	SIGTERM value.Seconds `json:"sigterm"` // the stop signal, after the preStop hook
	SIGKILL value.Seconds `json:"sigkill"` // if the program ignores the stop signal
	// Exit is when the program has exited, with the time that Options.Stop says, or by SIGKILL. It
	// is nil if the time is not known.
	Exit *value.Interval `json:"exit,omitempty"`
	// Condition is what else the stop signal waits for, such as "once app has exited". It then
	// comes at SIGTERM at the earliest. It is empty otherwise.
	Condition string `json:"condition,omitempty"`
}

// Kill is when a probe stops a container that never comes up, from the start of the container.
type Kill struct {
	From    value.Seconds `json:"from"`    // the earliest time
	Formula value.Seconds `json:"formula"` // what initialDelaySeconds + periodSeconds x failureThreshold gives
}

// String returns the earliest time, and the one of the formula if it is wrong because it comes
// later.
func (k *Kill) String() string {
	text := FormatDown(k.From)
	if k.Formula > k.From {
		text += " (formula: " + FormatDown(k.Formula) + ")"
	}
	return text
}

// Verification is the result for a requirement.
type Verification struct {
	Requirement string        `json:"requirement"`
	Row         RowID         `json:"row"`
	Required    value.Seconds `json:"required"`
	Met         bool          `json:"met"`
	Containers  []string      `json:"containers,omitempty"` // that it is about
	Missing     []string      `json:"missing,omitempty"`    // those without a probe for it
	// Reason says why there is nothing to verify: a container has no probe for it, or one that can
	// never run. Such a requirement is not met, and has no container and no value.
	Reason     string         `json:"reason,omitempty"`
	Container  string         `json:"container,omitempty"` // the container that decides
	Value      *value.Seconds `json:"value,omitempty"`
	Case       string         `json:"case,omitempty"`
	Kubernetes string         `json:"kubernetes,omitempty"`
	// Margin is the distance from the value to the requirement, negative if the requirement is not
	// met. It is nil if no container has the row, or the value has no limit.
	Margin *value.Seconds `json:"margin,omitempty"`
	// File, Line and Column are the position of the probe that decides, or else of the annotation
	// with the requirement, or else of the workload.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// App is what the program does in the runs that show a requirement that is not met, as the
	// flags --app of 'probesim run', and Delays are the nodes of these runs. The program is healthy
	// in those for Ready.
	App    []string `json:"app,omitempty"`
	Delays string   `json:"delays,omitempty"`
}

// Title returns the name of a workload for people, with its namespace unless that is the default
// one.
func (w *Workload) Title() string { return manifests.Title(w.Kind, w.Namespace, w.Name) }

// Worst returns the highest severity of the findings in the report, or nothing.
func (r *Report) Worst() (worst Severity) {
	for _, w := range r.Workloads {
		for _, c := range w.Containers {
			for _, f := range c.Findings {
				if f.Severity.rank() > worst.rank() {
					worst = f.Severity
				}
			}
		}
	}
	return worst
}

// Met reports whether all requirements are met.
func (r *Report) Met() bool {
	return !slices.ContainsFunc(r.Workloads, func(w Workload) bool {
		return slices.ContainsFunc(w.Requirements, func(v Verification) bool { return !v.Met })
	})
}

// Problems reports whether a workload could not be checked.
func (r *Report) Problems() bool {
	return slices.ContainsFunc(r.Workloads, func(w Workload) bool { return w.Problem != "" })
}
