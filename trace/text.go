package trace

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
)

// FormatTime formats a virtual time for people, rounded to milliseconds: in seconds up to ten
// minutes ("85.027s"), then with minutes and hours ("1h02m03.400s").
func FormatTime(t virtual.Time) string {
	ms := t.Offset().Round(time.Millisecond).Milliseconds()
	return formatTime(ms, max(ms, -ms) >= 600_000)
}

// InMinutes reports whether the times of a run that ends at end have minutes: if it is longer than
// ten minutes.
func InMinutes(end virtual.Time) bool { return end > virtual.At(10*time.Minute) }

// FormatTimeOf formats a virtual time of a run that ends at end, rounded to milliseconds, so that
// the times of a text about the run are alike: all in seconds ("595.362s"), or with minutes
// ("9m55.362s") if the run is longer than ten minutes.
func FormatTimeOf(end, t virtual.Time) string {
	return formatTime(t.Offset().Round(time.Millisecond).Milliseconds(), InMinutes(end))
}

func formatTime(ms int64, minutes bool) string {
	sign := ""
	if ms < 0 {
		sign, ms = "-", -ms
	}
	h, m, s := ms/3_600_000, ms/60_000%60, ms%60_000
	switch {
	case !minutes || h == 0 && m == 0:
		return fmt.Sprintf("%s%d.%03ds", sign, ms/1000, ms%1000)
	case h == 0:
		return fmt.Sprintf("%s%dm%02d.%03ds", sign, m, s/1000, s%1000)
	}
	return fmt.Sprintf("%s%dh%02dm%02d.%03ds", sign, h, m, s/1000, s%1000)
}

// PodName formats the pod of a record for people: it omits the namespace "default".
func PodName(pod string) string { return strings.TrimPrefix(pod, "default/") }

// Subject formats the subject of the record for people: a pod such as "web", an instance of a
// container such as "web/app#1", or "node".
func (r *Record) Subject() string {
	switch {
	case r.Pod == "" && r.Object != nil:
		return printable.Text(r.Object.Name)
	case r.Pod == "":
		return "node"
	case r.Container == "":
		return printable.Text(PodName(r.Pod))
	}
	return printable.Text(PodName(r.Pod) + "/" + r.Container + "#" + strconv.Itoa(r.Instance))
}

// Summary formats the kind of the record and the fields of the kind for people, on one line.
func (r *Record) Summary() string {
	var what string
	switch r.Kind {
	case ContainerStopping:
		what = fmt.Sprintf("%s grace %ds", r.Reason, r.GraceSeconds)
	case ContainerExited:
		what = fmt.Sprintf("exit code %d", r.ExitCode)
	case ProbeExecuted:
		what = join(string(r.Probe), string(r.Result), quoted(r.Message), "took "+r.Took.String())
	case ImagePullEnded, HookEnded, VolumeWaitEnded:
		what = join(r.Reason, string(r.Result), quoted(r.Message), "took "+r.Took.String())
	case Event:
		what = join(r.Type, r.Reason, quoted(r.Message))
	case StatusPatched:
		what = r.Status.String()
	default:
		what = join(r.Object.String(), r.internalSummary())
	}
	return printable.Text(join(string(r.Kind), what))
}

func (r *Record) internalSummary() string {
	took := ""
	if r.Took != 0 {
		took = r.Took.String()
	}
	return join(string(r.Probe), string(r.Result), r.Reason, quoted(r.Message), took)
}

// String formats the status for people, on one line. It omits initialized if true, and
// containersReady if equal to ready. A nil status is "no status".
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

// String formats the status for people, on one line.
func (c *ContainerStatus) String() string {
	state := join(c.State, c.Reason)
	if c.State == "terminated" {
		state += fmt.Sprintf(" exit code %d", c.ExitCode)
	}
	return join(c.Name, state, yesOrNo("started", c.Started), yesOrNo("ready", c.Ready),
		fmt.Sprintf("restarts %d", c.RestartCount))
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
