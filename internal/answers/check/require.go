package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
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
	has := "container %s has no %s probe"
	if len(containers) > 1 {
		has = "containers %s have no %s probe"
	}
	probes := printable.Words(id.Probes(), func(p trace.Probe) string { return string(p) })
	return fmt.Sprintf(has, printable.And(containers), strings.Join(probes, " or "))
}

// String returns the requirement as package require parses it.
func (r Requirement) String() string {
	return require.Requirement{Container: r.Container, Word: string(r.Row), Duration: r.Duration}.String()
}

// RequirementsOf returns the requirements of a list that are about containers. Package rollout
// judges the others.
func RequirementsOf(list []require.Requirement) (all Requirements) {
	containers, _ := require.Split(list)
	for _, r := range containers {
		all = append(all, Requirement{r.Container, RowID(r.Word), r.Duration})
	}
	return all
}

// Holds reports whether a value meets the requirement: the Always of a limit, or the Worst of a
// time.
func (r Requirement) Holds(v value.Seconds) bool {
	if r.Row.IsLimit() {
		return v >= value.Seconds(r.Duration)
	}
	return v <= value.Seconds(r.Duration)
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
