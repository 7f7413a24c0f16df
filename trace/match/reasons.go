package match

import (
	"slices"

	"probesim.dev/trace"
)

// reasons are all possible reasons of records, for the kinds where they are known. For events, they are the
// reasons in the simulated part of the kubelet (pkg/kubelet/events/event.go, pkg/kubelet/eviction/helpers.go,
// pkg/kubelet/kubelet.go and pkg/kubelet/active_deadline.go at v1.37.0).
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

// ReasonsOf returns all possible reasons of records of a kind, or nil if they are not known.
func ReasonsOf(kind trace.Kind) []string { return slices.Clone(reasons[kind]) }

// podReasons are the reasons of events that are about a pod, and never about a container.
var podReasons = []string{
	"DeadlineExceeded", "Evicted", "ExceededGracePeriod", "FailedCreatePodSandBox", "FailedKillPod", "FailedPodSandBoxStatus",
	"FailedSync", "NetworkNotReady", "NodeShutdown", "SandboxChanged",
}

// AboutPod reports whether events with a reason are about a pod, and never about a container.
func AboutPod(reason string) bool { return slices.Contains(podReasons, reason) }
