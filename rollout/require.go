package rollout

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// Requirement is a requirement on a row, such as lost<=0.
type Requirement struct {
	Row   string  `json:"row"`
	Value float64 `json:"value"` // seconds, or a number
}

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
	return r.Row + operator + Format(r.Row, r.Value)
}

// ParseRequirements parses a list such as "lost<=0, ready>=3, takes<=5m, prestop<=10s". The error lists all errors.
func ParseRequirements(text string) (Requirements, error) {
	var list Requirements
	var wrong []error
	for _, part := range strings.Split(text, ",") {
		r, err := parseRequirement(strings.TrimSpace(part))
		if err != nil {
			wrong = append(wrong, err)
		}
		list = append(list, r)
	}
	return list, errors.Join(wrong...)
}

func parseRequirement(text string) (r Requirement, err error) {
	at := strings.IndexAny(text, "<>=")
	if at < 0 {
		return r, fmt.Errorf("%s is no requirement: write a row, >= or <=, and a value, such as lost<=0", strict.Quote(text))
	}
	names := []string{RowLost, RowReady, RowTakes, RowPreStop}
	r.Row = strings.TrimSpace(text[:at])
	operator := "<="
	switch r.Row {
	case RowReady:
		operator = ">="
	case RowLost, RowTakes, RowPreStop:
	default:
		return r, fmt.Errorf("%s is no row%s: the rows are %s", strict.Quote(r.Row), strict.DidYouMean(r.Row, names), strings.Join(names, ", "))
	}
	limit, found := strings.CutPrefix(text[at:], operator)
	if !found {
		return r, fmt.Errorf("%s takes %s", r.Row, operator)
	}
	limit = strings.TrimSpace(limit)
	if inSeconds(r.Row) {
		d, err := value.ParseDuration(limit)
		if err != nil {
			return r, fmt.Errorf("%s: %w", r.Row, err)
		}
		r.Value = d.Seconds()
		return r, nil
	}
	if r.Value, err = strconv.ParseFloat(limit, 64); err != nil || !(r.Value >= 0) {
		return r, fmt.Errorf("%s: %s is no number", r.Row, strict.Quote(limit))
	}
	return r, nil
}

// require decides the requirements.
func (w *Workload) require(o *Options) {
	for _, r := range o.Require {
		w.Requirements = append(w.Requirements, w.decide(r))
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
