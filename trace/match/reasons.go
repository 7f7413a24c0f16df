package match

import (
	"slices"

	"probesim.dev/trace"
)

// reasons are all that records of a kind can have, where they are known. Those of events are the ones that the simulated part
// of the kubelet leaves (pkg/kubelet/events/event.go, pkg/kubelet/eviction/helpers.go, pkg/kubelet/kubelet.go and
// pkg/kubelet/active_deadline.go at v1.37.0).
var reasons = map[trace.Kind][]string{
	trace.ContainerStopping: {
		"LivenessProbe", "StartupProbe", "FailedPostStartHook", "ImageChanged", "RestartAllContainers", "Deleted", "Evicted", "Stopped",
	},
	trace.Event: {
		"BackOff", "Created", "DeadlineExceeded", "ErrImageNeverPull", "Evicted", "ExceededGracePeriod", "Failed",
		"FailedCreatePodSandBox", "FailedKillPod", "FailedPodSandBoxStatus", "FailedPostStartHook", "FailedPreStopHook", "FailedSync",
		"InspectFailed", "Killing", "NetworkNotReady", "NodeShutdown", "ProbeWarning", "Pulled", "Pulling", "SandboxChanged", "Started", "Unhealthy",
	},
}

// ReasonsOf returns all reasons that records of a kind can have, nil where they are not known.
func ReasonsOf(kind trace.Kind) []string { return slices.Clone(reasons[kind]) }
