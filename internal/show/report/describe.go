package report

import (
	"cmp"
	"fmt"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// titles are those of the records that need no other words.
var titles = map[trace.Kind]string{
	trace.PodAdded: "pod added", trace.PodDeleteRequested: "deletion requested", trace.PodRemoved: "pod removed",
	trace.KubeletStopped: "kubelet stopped", trace.KubeletStarted: "kubelet started",
}

// Describe describes a record for people: a title, and a message that may be empty.
func Describe(r *trace.Record) (title, message string) {
	switch r.Kind {
	case trace.ContainerStarted:
		if r.Instance > 0 {
			return fmt.Sprintf("container started: restart %d", r.Instance), ""
		}
		return "container started", ""
	case trace.ContainerStopping:
		return "stop signal: " + printable.Text(r.Reason), "grace period " +
			(time.Duration(r.GraceSeconds) * time.Second).String()
	case trace.ContainerExited:
		return fmt.Sprintf("container exited with %d", r.ExitCode), ""
	case trace.ProbeExecuted:
		return string(r.Probe) + " probe: " + string(r.Result), r.Message
	case trace.StatusPatched:
		return "status", r.Status.String()
	case trace.Event:
		return printable.Text(r.Type + " event " + r.Reason), r.Message
	case trace.ImagePullStarted:
		return "image pull begins", r.Message
	case trace.ImagePullEnded:
		return "image pull: " + string(r.Result), r.Message
	case trace.HookStarted:
		return printable.Text(r.Reason) + " hook begins", ""
	case trace.HookEnded:
		return printable.Text(r.Reason) + " hook: " + string(r.Result), r.Message
	case trace.VolumeWaitEnded:
		return "wait for volumes to " + printable.Text(r.Reason) + ": " + string(r.Result), ""
	case trace.Step:
		return "step " + printable.Text(r.Reason), r.Message
	}
	return cmp.Or(titles[r.Kind], r.Summary()), ""
}
