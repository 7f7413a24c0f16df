package match

import (
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

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
