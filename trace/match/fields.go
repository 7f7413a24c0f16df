// Package match finds moments in a trace: states of pods and containers as the API server reports
// them, changes of these states, and records.
package match

import (
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// InDetail reports whether only traces with details have a field of a pod or container.
func InDetail(name string) bool {
	pod, container := find(podFields, name), find(containerFields, name)
	return pod != nil && pod.detail != nil || container != nil && container.detail != nil
}

// field is a field of a T that a matcher can have.
type field[T any] struct {
	name  string
	typ   value.Type
	get   func(*T) value.Scalar
	words []string // the only possible values of a text field; nil: any
	// detail replaces get for a field that only traces with details have. It returns false if the
	// status has no value.
	detail func(*T) (value.Scalar, bool)
}

func textField[T any](name string, get func(*T) string, words ...string) field[T] {
	return field[T]{name, value.Text, func(of *T) value.Scalar { return value.TextOf(get(of)) }, words, nil}
}

func boolField[T any](name string, get func(*T) bool) field[T] {
	return field[T]{name, value.Bool, func(of *T) value.Scalar { return value.BoolOf(get(of)) }, nil, nil}
}

func intField[T any, N int32 | int64](name string, get func(*T) N) field[T] {
	return field[T]{name, value.Int, func(of *T) value.Scalar { return value.IntOf(int64(get(of))) }, nil, nil}
}

var podFields = []field[trace.PodStatus]{
	textField("phase", func(s *trace.PodStatus) string { return s.Phase }, "Pending", "Running", "Succeeded", "Failed"),
	textField("reason", func(s *trace.PodStatus) string { return s.Reason }),
	boolField("initialized", func(s *trace.PodStatus) bool { return s.Initialized }),
	boolField("containersReady", func(s *trace.PodStatus) bool { return s.ContainersReady }),
	boolField("ready", func(s *trace.PodStatus) bool { return s.Ready }),
	conditionField("podScheduled", "PodScheduled"),
	conditionField("podReadyToStartContainers", "PodReadyToStartContainers"),
	conditionField("disruptionTarget", "DisruptionTarget"),
	sinceField("podScheduledSince", "PodScheduled"),
	sinceField("podReadyToStartContainersSince", "PodReadyToStartContainers"),
	sinceField("initializedSince", "Initialized"),
	sinceField("containersReadySince", "ContainersReady"),
	sinceField("readySince", "Ready"),
	sinceField("disruptionTargetSince", "DisruptionTarget"),
	{"podIPs", value.Text, nil, nil, func(s *trace.PodStatus) (value.Scalar, bool) {
		if s.Details == nil || len(s.Details.PodIPs) == 0 {
			return value.Scalar{}, false
		}
		return value.TextOf(strings.Join(s.Details.PodIPs, ",")), true
	}},
}

// conditionField is a field that is true while a condition of the pod is True.
func conditionField(name, condition string) field[trace.PodStatus] {
	return field[trace.PodStatus]{name, value.Bool, nil, nil, func(s *trace.PodStatus) (value.Scalar, bool) {
		if s.Details == nil {
			return value.BoolOf(false), true // a new pod has no conditions
		}
		c := s.Details.Condition(condition)
		return value.BoolOf(c != nil && c.Status == "True"), true
	}}
}

// sinceField is the time of the last transition of a condition.
func sinceField(name, condition string) field[trace.PodStatus] {
	return field[trace.PodStatus]{name, value.Time, nil, nil, func(s *trace.PodStatus) (value.Scalar, bool) {
		if s.Details == nil {
			return value.Scalar{}, false
		}
		c := s.Details.Condition(condition)
		if c == nil {
			return value.Scalar{}, false
		}
		return timeOf(&c.Since)
	}}
}

// timeOf returns a time of the API. The API has whole seconds, so its time of a moment just after
// t=0 can be earlier: it counts as t=0.
func timeOf(t *virtual.Time) (value.Scalar, bool) {
	if t == nil {
		return value.Scalar{}, false
	}
	return value.TimeOf(max(t.Offset(), 0)), true
}

var containerFields = []field[trace.ContainerStatus]{
	textField("state", func(s *trace.ContainerStatus) string { return s.State }, "waiting", "running", "terminated"),
	textField("reason", func(s *trace.ContainerStatus) string { return s.Reason }),
	intField("exitCode", func(s *trace.ContainerStatus) int32 { return s.ExitCode }),
	boolField("started", func(s *trace.ContainerStatus) bool { return s.Started }),
	boolField("ready", func(s *trace.ContainerStatus) bool { return s.Ready }),
	intField("restartCount", func(s *trace.ContainerStatus) int32 { return s.RestartCount }),
	detailField("image", value.Text,
		func(d *trace.ContainerDetails) (value.Scalar, bool) { return value.TextOf(d.Image), true }),
	detailField("startedAt", value.Time,
		func(d *trace.ContainerDetails) (value.Scalar, bool) { return timeOf(d.StartedAt) }),
	detailField("finishedAt", value.Time,
		func(d *trace.ContainerDetails) (value.Scalar, bool) { return timeOf(d.FinishedAt) }),
	lastField("lastExitCode", value.Int,
		func(l *trace.Termination) (value.Scalar, bool) { return value.IntOf(int64(l.ExitCode)), true }),
	lastField("lastReason", value.Text,
		func(l *trace.Termination) (value.Scalar, bool) { return value.TextOf(l.Reason), true }),
	lastField("lastStartedAt", value.Time,
		func(l *trace.Termination) (value.Scalar, bool) { return timeOf(l.StartedAt) }),
	lastField("lastFinishedAt", value.Time,
		func(l *trace.Termination) (value.Scalar, bool) { return timeOf(l.FinishedAt) }),
}

// detailField is a field of the details of a container.
func detailField(name string, typ value.Type,
	get func(*trace.ContainerDetails) (value.Scalar, bool)) field[trace.ContainerStatus] {
	return field[trace.ContainerStatus]{name, typ, nil, nil, func(s *trace.ContainerStatus) (value.Scalar, bool) {
		if s.Details == nil {
			return value.Scalar{}, false
		}
		return get(s.Details)
	}}
}

// lastField is a field of the end of an earlier instance, and has no value before one ends.
func lastField(name string, typ value.Type,
	get func(*trace.Termination) (value.Scalar, bool)) field[trace.ContainerStatus] {
	return detailField(name, typ, func(d *trace.ContainerDetails) (value.Scalar, bool) {
		if d.LastState == nil {
			return value.Scalar{}, false
		}
		return get(d.LastState)
	})
}

var (
	probes  = []string{string(trace.Liveness), string(trace.Readiness), string(trace.Startup)}
	ends    = []string{string(trace.Success), string(trace.Failure)}
	hooks   = []string{"postStart", "preStop"}
	results = []string{string(trace.Success), string(trace.Failure), string(trace.Warning), string(trace.Error)}
)

var recordFields = []field[trace.Record]{
	intField("graceSeconds", func(r *trace.Record) int64 { return r.GraceSeconds }),
	intField("exitCode", func(r *trace.Record) int32 { return r.ExitCode }),
	textField("probe", func(r *trace.Record) string { return string(r.Probe) }, probes...),
	textField("result", func(r *trace.Record) string { return string(r.Result) }, results...),
	{"took", value.Time, func(r *trace.Record) value.Scalar { return value.TimeOf(r.Took) }, nil, nil},
	textField("type", func(r *trace.Record) string { return r.Type }, "Normal", "Warning"),
	textField("reason", func(r *trace.Record) string { return r.Reason }),
	textField("message", func(r *trace.Record) string { return r.Message }),
}

func find[T any](fields []field[T], name string) *field[T] {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

// Described describes a field that a matcher can have, for documentation and schemas.
type Described struct {
	Name  string
	Type  value.Type
	Words []string // the only possible values; nil: any
}

// PodFields returns the fields of the status of a pod.
func PodFields() []Described { return describe(podFields) }

// ContainerFields returns the fields of the status of a container.
func ContainerFields() []Described { return describe(containerFields) }

// RecordFields returns the fields of all records, without the kind. Kinds returns the fields of
// each kind.
func RecordFields() []Described { return describe(recordFields) }

// RecordKinds returns the names of the kinds of records, observable kinds first.
func RecordKinds() []string {
	return printable.Words(table, func(k Kind) string { return string(k.Kind) })
}

func describe[T any](fields []field[T]) []Described {
	var list []Described
	for _, f := range fields {
		list = append(list, Described{f.name, f.typ, slices.Clone(f.words)})
	}
	return list
}

// workloadFields are the fields of the state of a Deployment. complete is what 'kubectl rollout
// status' waits for (DeploymentComplete in pkg/controller/deployment/util/deployment_util.go at
// v1.37.0); reason is that of the condition Progressing.
var workloadFields = []field[trace.Workload]{
	boolField("complete", (*trace.Workload).Complete),
	textField("reason", func(w *trace.Workload) string { return w.Condition("Progressing").Reason },
		"", "NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated", "NewReplicaSetAvailable",
		"ProgressDeadlineExceeded", "DeploymentPaused", "DeploymentResumed", "ReplicaSetCreateError"),
	boolField("available", func(w *trace.Workload) bool { return w.Condition("Available").Status == "True" }),
	intField("desiredReplicas", func(w *trace.Workload) int32 { return w.Desired }),
	intField("replicas", func(w *trace.Workload) int32 { return w.Replicas }),
	intField("updatedReplicas", func(w *trace.Workload) int32 { return w.Updated }),
	intField("readyReplicas", func(w *trace.Workload) int32 { return w.Ready }),
	intField("availableReplicas", func(w *trace.Workload) int32 { return w.Available }),
	intField("terminatingReplicas", func(w *trace.Workload) int32 { return w.Terminating }),
}

// Workload reports whether the state of a Deployment meets all conditions. It returns false if the
// state is nil.
func (f Fields) Workload(w *trace.Workload) bool { return w != nil && matches(workloadFields, f, w) }

// LookupWorkload returns the value of a field of a Deployment. It returns false if there is no such
// field.
func LookupWorkload(w *trace.Workload, name string) (value.Scalar, bool) {
	return get(workloadFields, name, w)
}

// WorkloadFields returns the fields of a Deployment.
func WorkloadFields() []Described { return describe(workloadFields) }

// CheckWorkload resolves the types of fields of a Deployment that were decoded from n, and reports
// errors at n.
func (f Fields) CheckWorkload(n *strict.Node) {
	for i := range f {
		of := find(workloadFields, f[i].Name)
		if of == nil {
			n.Items[i].Errorf("unknown field of a Deployment%s", strict.OrList(f[i].Name, names(workloadFields)))
			continue
		}
		f[i].Match, _ = parseMatch(n.Items[i], f[i].Name, of.typ, of.words)
		f[i].checkProves(n.Items[i])
	}
}
