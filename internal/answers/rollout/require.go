package rollout

import (
	"slices"

	"probesim.dev/internal/require"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/workloads"
)

// Requirements must all hold.
type Requirements = []require.Requirement

// annotated returns the requirements of the options and of the annotation of a Deployment, or else
// of its template: those about rollouts, and those that package check judges. All must hold.
func (o *Options) annotated(n *strict.Node) (rollouts, containers Requirements) {
	list, found := slices.Clone(o.Require), false
	for _, object := range []*strict.Node{n, n.Find("spec.template")} {
		text := object.Find("metadata.annotations").Field(workloads.RequireAnnotation)
		if !text.Written() {
			continue
		}
		own, err := require.Parse(text.Value)
		if err != nil {
			text.Errorf("%v", err)
		}
		for _, q := range own {
			if !found && !slices.Contains(list, q) {
				list = append(list, q)
			}
		}
		found = true
	}
	containers, rollouts = require.Split(list)
	return rollouts, containers
}

// require decides the requirements.
func (w *Workload) require(of Requirements, o *Options) {
	for _, r := range of {
		v := w.decide(r)
		v.Annotation = !slices.Contains(o.Require, r)
		if !v.Annotation || o.AllowAnnotations {
			w.required = true
			w.excused = w.excused || v.Met && r.Word == RowLost
		}
		w.Requirements = append(w.Requirements, v)
	}
}

// decide decides a requirement: the worst of the runs counts, and for prestop the rule.
func (w *Workload) decide(r require.Requirement) Verification {
	v := Verification{Requirement: r.String(), Row: r.Word}
	if w.Verdict == NeverCompletes || w.Verdict == NeverReady {
		v.Reason = "the rollout does not complete"
		return v
	}
	row := w.row(r.Word)
	switch {
	case row == nil && r.Word == RowPreStop && w.Lost != nil:
		v.Reason = "no preStop sleep is always enough"
	case r.Word == RowPreStop && row != nil && row.Always == nil:
		v.Reason = "SIGKILL may come before the program has slept and ended its requests: raise " +
			"terminationGracePeriodSeconds"
	case row == nil:
		v.Reason = "no requests are sent: it needs a Service that selects the pods, and --rps"
	case r.Word == RowReplicas:
		v.Value = &row.Least
	case r.Word == RowPreStop:
		v.Value = row.Always
	default:
		v.Value = &row.Greatest
	}
	v.Met = v.Value != nil && r.Met(*v.Value)
	return v
}
