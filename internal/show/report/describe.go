package report

import (
	"fmt"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// Describe describes a record for people: a title, and a message that may be empty.
func Describe(r *trace.Record) (title, message string) {
	switch r.Kind {
	case trace.PodAdded:
		return "pod added", ""
	case trace.PodDeleteRequested:
		return "deletion requested", ""
	case trace.PodRemoved:
		return "pod removed", ""
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
	case trace.KubeletStopped:
		return "kubelet stopped", ""
	case trace.KubeletStarted:
		return "kubelet started", ""
	case trace.Step:
		return "step " + printable.Text(r.Reason), r.Message
	}
	return r.Summary(), ""
}
