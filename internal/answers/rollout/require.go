package rollout

import (
	"slices"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/strict"
)

// Requirements must all hold.
type Requirements = []check.RolloutRequirement

// annotated returns the requirements of the options, and those on rollouts of the annotation of a
// Deployment, or else of its template. All must hold. Package check judges the other requirements
// of the annotation.
func (o *Options) annotated(n *strict.Node) Requirements {
	list, found := slices.Clone(o.Require), false
	for _, object := range []*strict.Node{n, n.Find("spec.template")} {
		text := object.Find("metadata.annotations").Field(check.RequireAnnotation)
		if !text.Written() {
			continue
		}
		rollouts, _, err := check.ParseAnyRequirements(text.Value)
		if err != nil {
			text.Errorf("%v", err)
		}
		for _, q := range rollouts {
			if !found && !slices.Contains(list, q) {
				list = append(list, q)
			}
		}
		found = true
	}
	return list
}

// require decides the requirements.
func (w *Workload) require(of Requirements, o *Options) {
	for _, r := range of {
		v := w.decide(r)
		v.Annotation = !slices.Contains(o.Require, r)
		if !v.Annotation || o.AllowAnnotations {
			w.required = true
			w.excused = w.excused || v.Met && r.Row == RowLost
		}
		w.Requirements = append(w.Requirements, v)
	}
}

// decide decides a requirement: the worst of the runs counts, and for prestop the rule.
func (w *Workload) decide(r check.RolloutRequirement) Verification {
	v := Verification{Requirement: r.String()}
	if w.Verdict == NeverCompletes || w.Verdict == NeverReady {
		v.Reason = "the rollout does not complete"
		return v
	}
	row := w.row(r.Row)
	switch {
	case row == nil && r.Row == RowPreStop && w.Lost != nil:
		v.Reason = "no preStop sleep is always enough"
	case row == nil:
		v.Reason = "no requests are sent: it needs a Service that selects the pods, and --rps"
	case r.Row == RowReady:
		v.Value, v.Met = &row.Least, row.Least >= r.Value
	case r.Row == RowPreStop:
		v.Value, v.Met = row.Always, *row.Always <= r.Value
	default:
		v.Value, v.Met = &row.Greatest, row.Greatest <= r.Value
	}
	return v
}
