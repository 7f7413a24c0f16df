package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Requirement is a requirement on a row: a limit that must be at least a duration, or a time that
// must be at most one.
type Requirement struct {
	Container string // that it is about; empty: each ordinary container that no other requirement on the row names
	Row       RowID
	Duration  time.Duration
}

// Requirements must all hold.
type Requirements []Requirement

// needs reports whether a row of a container has no meaning if a probe can never run. Without a
// startup probe that succeeds, no other probe runs.
func (id RowID) needs(p trace.Probe, c *v1.Container) bool {
	switch {
	case p == trace.Startup || id == Recover:
		return true
	case p == trace.Liveness && c.StartupProbe != nil && (id == Start || id == Restart || id == Retry):
		return false
	}
	return slices.Contains(id.Probes(), p)
}

// Missing says that some containers do not have the row.
func (id RowID) Missing(containers []string) string {
	var probes []string
	for _, p := range id.Probes() {
		probes = append(probes, string(p))
	}
	last := len(containers) - 1
	if last == 0 {
		return fmt.Sprintf("container %s has no %s probe", containers[0], strings.Join(probes, " or "))
	}
	return fmt.Sprintf("containers %s and %s have no %s probe", strings.Join(containers[:last], ", "), containers[last],
		strings.Join(probes, " or "))
}

// String returns the requirement as ParseRequirements reads it.
func (r Requirement) String() string {
	operator := "<="
	if r.Row.IsLimit() {
		operator = ">="
	}
	return r.name() + operator + value.Format(r.Duration)
}

// name returns what the requirement is about, such as start or app/start.
func (r Requirement) name() string {
	if r.Container == "" {
		return string(r.Row)
	}
	return r.Container + "/" + string(r.Row)
}

// String returns the requirements as ParseRequirements reads them.
func (r Requirements) String() string {
	var list []string
	for _, one := range r {
		list = append(list, one.String())
	}
	return strings.Join(list, ", ")
}

// ParseRequirements parses a list of requirements with commas, such as "start>=70s,
// app/detect<=45s". The error lists all errors.
func ParseRequirements(text string) (Requirements, error) {
	var list Requirements
	var wrong []string
	for _, part := range strings.Split(text, ",") {
		r, err := parseRequirement(strings.TrimSpace(part))
		switch {
		case err != nil:
			wrong = append(wrong, err.Error())
		case slices.ContainsFunc(list, func(other Requirement) bool { return other.name() == r.name() }):
			wrong = append(wrong, r.name()+" is required twice")
		default:
			list = append(list, r)
		}
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	return list, nil
}

func parseRequirement(text string) (Requirement, error) {
	at := strings.IndexAny(text, "<>=")
	if at < 0 {
		return Requirement{}, fmt.Errorf("%s is no requirement: write a row, >= or <=, and a duration, such as "+
			"start>=70s", strict.Quote(text))
	}
	container, name, named := strings.Cut(strings.TrimSpace(text[:at]), "/")
	if container, name = strings.TrimSpace(container), strings.TrimSpace(name); !named {
		container, name = "", container
	} else if container == "" {
		return Requirement{}, fmt.Errorf("the name of a container is missing before /%s", name)
	}
	operator, limit := text[at:at+1], text[at+1:]
	if strings.HasPrefix(limit, "=") {
		operator, limit = text[at:at+2], limit[1:]
	}
	for _, r := range rows {
		if string(r.id) != name || r.means == "" {
			continue
		}
		want := map[bool]string{true: ">=", false: "<="}[r.limit]
		if operator != want {
			return Requirement{}, fmt.Errorf("%s takes %s, because %s", name, want, r.means)
		}
		d, err := value.ParseDuration(strings.TrimSpace(limit))
		if err != nil {
			return Requirement{}, fmt.Errorf("%s: %w", name, err)
		}
		if d > bounds.LongestLimit {
			return Requirement{}, fmt.Errorf("%s: must be at most %s, because a longer time counts as no limit", name,
				value.Format(bounds.LongestLimit))
		}
		return Requirement{container, r.id, d}, nil
	}
	var names []string
	for _, r := range rows {
		if r.means != "" {
			names = append(names, string(r.id))
		}
	}
	if slices.Contains([]string{"lost", "takes", "prestop"}, name) {
		return Requirement{}, fmt.Errorf("%s is a row of 'probesim rollout' and 'probesim tune': the rows of probes "+
			"are %s", name, strings.Join(names, ", "))
	}
	return Requirement{}, fmt.Errorf("%s is no row%s: the rows are %s", strict.Quote(name),
		strict.DidYouMean(name, slices.Concat(names, rolloutRows)), strings.Join(names, ", "))
}

// Holds reports whether a value meets the requirement: the Always of a limit, or the Worst of a
// time.
func (r Requirement) Holds(value Seconds) bool {
	if r.Row.IsLimit() {
		return value >= Seconds(r.Duration)
	}
	return value <= Seconds(r.Duration)
}

// Margin returns by how much values meet the requirement, or miss it if the margin is negative, and
// the value that decides. The margin is bounds.Never if nothing limits what must be possible. There
// must be a value.
func (r Requirement) Margin(values []Value) (time.Duration, Value) {
	worst := r.Row.Worst(values)
	end := r.Row.End(worst.Range)
	switch {
	case r.Row.IsLimit() && end == bounds.Never:
		return bounds.Never, worst
	case r.Row.IsLimit():
		return end - r.Duration, worst
	case end == bounds.Never:
		return -bounds.Never, worst
	}
	return r.Duration - end, worst
}
