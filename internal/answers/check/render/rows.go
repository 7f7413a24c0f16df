package render

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/value"
)

// youSay is the head of the column with the known starts of a container, or empty.
func youSay(c *check.Container) string {
	if c.Start == nil {
		return ""
	}
	if c.Measured != nil && c.Measured.Used {
		return "measured"
	}
	return "you say"
}

// Fact is something about a container that has no range.
type Fact struct{ Name, Text string }

// NotAbout says of a sidecar that the command line without its name is not about it, if it says
// something. Otherwise, it returns an empty string.
func NotAbout(r *check.Report, w *check.Workload, c *check.Container) string {
	passedOver := r.Start != nil && c.Start == nil || r.Stop != nil && c.Stop == nil ||
		slices.ContainsFunc(w.Requirements, func(v check.Verification) bool {
			return !slices.Contains(v.Containers, c.Name) && !strings.Contains(v.Requirement, "/")
		})
	if c.Sidecar == "" || !passedOver {
		return ""
	}
	return fmt.Sprintf("A sidecar (%s): --start, --stop and --require without a name are not about it.", c.Sidecar)
}

// Facts returns what happens to a container after the deletion of its pod and if it never comes up,
// when it exits, and the share of the known starts that come up.
func Facts(c *check.Container) []Fact {
	var list []Fact
	if d := c.Deleted; d != nil && d.Condition == "" {
		list = append(list, Fact{"deleted -> SIGTERM, SIGKILL", check.FormatUp(d.SIGTERM) + ", " +
			check.FormatUp(d.SIGKILL)})
	} else if d != nil {
		list = append(list, Fact{"deleted -> SIGTERM", "from " + check.FormatUp(d.SIGTERM) + ", " + d.Condition},
			Fact{"deleted -> SIGKILL", check.FormatUp(d.SIGKILL)})
	}
	if c.Kill != nil {
		list = append(list, Fact{"stuck start: killed at the earliest after", c.Kill.String()})
	}
	if text := starts(c.Restarts); text != "" {
		list = append(list, Fact{"stuck start: starts at", text})
	}
	if c.Deleted != nil && c.Deleted.Exit != nil {
		list = append(list, Fact{fmt.Sprintf("deleted -> exit (stop of %s)", c.Stop),
			check.FormatDown(c.Deleted.Exit.Min) + " - " +
				check.FormatUp(c.Deleted.Exit.Max)})
	}
	if c.StartShare != nil {
		list = append(list, Fact{fmt.Sprintf("starts of %s that come up", c.Start), check.Percent(*c.StartShare)})
	}
	return list
}

// starts formats the starts of a container that never comes up: the first ones, and the distance
// between the last ones.
func starts(times []value.Seconds) string {
	const shown = 3
	var texts []string
	for _, s := range times[:min(shown, len(times))] {
		texts = append(texts, check.Clock(s))
	}
	text := strings.Join(texts, " ")
	if len(times) <= shown+2 {
		return text
	}
	var distances []value.Seconds
	for i := len(times) - 3; i < len(times); i++ {
		distances = append(distances, times[i]-times[i-1])
	}
	least, greatest := check.Clock(slices.Min(distances)), check.Clock(slices.Max(distances))
	if text += " … every " + least; least != greatest {
		text += " to " + greatest
	}
	return text
}

// best describes the best value of a time. It is empty if there is none, because the worst value
// says so.
func best(t *check.Time) string {
	if t.Best.IsNever() {
		return ""
	}
	return check.FormatDown(t.Best)
}

// Requirement describes the result for a requirement in one line.
func Requirement(v *check.Verification) string {
	if v.Value == nil {
		return v.Requirement + ": " + v.Reason
	}
	text := v.Requirement + ": " + v.Row.Format(*v.Value) + " in container " + v.Container
	if v.Case != "" {
		text += ", " + v.Case
	}
	return text + " (" + v.Kubernetes + ")"
}

// Margin describes how far a value is from its requirement, or returns an empty string if that has
// no meaning.
func Margin(v *check.Verification) string {
	switch {
	case v.Margin == nil:
		return ""
	case *v.Margin < 0:
		return check.FormatUp(-*v.Margin) + " short of it"
	}
	return "margin " + check.FormatDown(*v.Margin)
}
