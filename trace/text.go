package trace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"probesim.dev/sim/virtual"
)

// FormatTime writes a virtual time for people, to the millisecond: in seconds below ten minutes
// ("85.027s"), with minutes and hours from there on ("1h02m03.400s").
func FormatTime(t virtual.Time) string {
	ms := t.Offset().Round(time.Millisecond).Milliseconds()
	sign := ""
	if ms < 0 {
		sign, ms = "-", -ms
	}
	h, m, s := ms/3_600_000, ms/60_000%60, ms%60_000
	switch {
	case ms < 600_000:
		return fmt.Sprintf("%s%d.%03ds", sign, ms/1000, ms%1000)
	case h == 0:
		return fmt.Sprintf("%s%dm%02d.%03ds", sign, m, s/1000, s%1000)
	}
	return fmt.Sprintf("%s%dh%02dm%02d.%03ds", sign, h, m, s/1000, s%1000)
}

// PodName writes the pod of a record for people: without the namespace where that is default.
func PodName(pod string) string { return strings.TrimPrefix(pod, "default/") }

// Subject says for people whom the record is about: "web", "web/app#1" (container and instance) or "node".
func (r *Record) Subject() string {
	switch {
	case r.Pod == "":
		return "node"
	case r.Container == "":
		return Clean(PodName(r.Pod))
	}
	return Clean(PodName(r.Pod) + "/" + r.Container + "#" + strconv.Itoa(r.Instance))
}

// Summary says for people, on one line, what the record says: its kind and the fields of the kind.
func (r *Record) Summary() string {
	var what string
	switch r.Kind {
	case ContainerStopping:
		what = fmt.Sprintf("%s grace %ds", r.Reason, r.GraceSeconds)
	case ContainerExited:
		what = fmt.Sprintf("exit code %d", r.ExitCode)
	case ProbeExecuted:
		what = join(string(r.Probe), string(r.Result), quoted(r.Message), "took "+r.Took.String())
	case Event:
		what = join(r.Type, r.Reason, quoted(r.Message))
	case StatusPatched:
		what = r.Status.String()
	default:
		what = r.internalSummary()
	}
	return Clean(join(string(r.Kind), what))
}

func (r *Record) internalSummary() string {
	took := ""
	if r.Took != 0 {
		took = r.Took.String()
	}
	return join(string(r.Probe), string(r.Result), r.Reason, quoted(r.Message), took)
}

// String says the status for people on one line: initialized and containersReady only where they are not
// what one expects. A nil status is "no status".
func (s *PodStatus) String() string {
	if s == nil {
		return "no status"
	}
	parts := []string{s.Phase, s.Reason}
	if !s.Initialized {
		parts = append(parts, "not-initialized")
	}
	if s.ContainersReady != s.Ready {
		parts = append(parts, yesOrNo("containersReady", s.ContainersReady))
	}
	parts = append(parts, yesOrNo("ready", s.Ready))
	for i := range s.Containers {
		parts = append(parts, "["+s.Containers[i].String()+"]")
	}
	return join(parts...)
}

// String says the status for people on one line.
func (c *ContainerStatus) String() string {
	state := join(c.State, c.Reason)
	if c.State == "terminated" {
		state += fmt.Sprintf(" exit code %d", c.ExitCode)
	}
	return join(c.Name, state, yesOrNo("started", c.Started), yesOrNo("ready", c.Ready), fmt.Sprintf("restarts %d", c.RestartCount))
}

func yesOrNo(name string, b bool) string {
	if b {
		return name
	}
	return "not-" + name
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return strconv.Quote(s)
}

func join(parts ...string) string {
	full := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			full = append(full, p)
		}
	}
	return strings.Join(full, " ")
}

// Clean makes text from a run safe to print on one line of a terminal: control and other characters that
// do not print are written as Go escapes.
func Clean(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 && strings.ToValidUTF8(s, "") == s {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
