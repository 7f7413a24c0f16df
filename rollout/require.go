package rollout

import (
	"slices"
	"strconv"

	"probesim.dev/check"
	"probesim.dev/internal/strict"
)

// Requirement is a requirement on a row, such as lost<=0.
type Requirement check.RolloutRequirement

// Requirements must all hold.
type Requirements []Requirement

// atLeast reports whether the row must be at least the value.
func atLeast(row string) bool { return row == RowReady }

// inSeconds reports whether a row is a time.
func inSeconds(row string) bool { return row == RowTakes || row == RowPreStop }

// String returns the requirement as ParseRequirements reads it.
func (r Requirement) String() string {
	operator := "<="
	if atLeast(r.Row) {
		operator = ">="
	}
	if !inSeconds(r.Row) {
		return r.Row + operator + strconv.FormatFloat(r.Value, 'f', -1, 64)
	}
	return r.Row + operator + Format(r.Row, r.Value)
}

// ParseRequirements parses a list such as "lost<=0, ready>=3, takes<=5m, prestop<=10s". The error lists all errors.
func ParseRequirements(text string) (Requirements, error) {
	list, err := check.ParseRolloutRequirements(text)
	return requirements(list), err
}

func requirements(of []check.RolloutRequirement) (list Requirements) {
	for _, q := range of {
		list = append(list, Requirement(q))
	}
	return list
}

// annotated returns the requirements of the options, and those on rollouts of the annotation of a Deployment, or else of its template. All must hold.
// Package check judges the other requirements of the annotation.
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
		for _, q := range requirements(rollouts) {
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
func (w *Workload) decide(r Requirement) Verification {
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
	case r.Row == RowLost:
		v.Value, v.Met = &row.Greatest, row.Greatest <= r.Value
	default:
		v.Value, v.Met = &row.Greatest, row.Greatest <= r.Value
	}
	return v
}
