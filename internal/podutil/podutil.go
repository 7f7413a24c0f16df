// Package podutil answers questions about the spec of a pod: which init containers are sidecars,
// which containers restart after an exit, and which signal stops a container. The rules follow
// pkg/api/v1/pod/util.go at v1.37.0.
package podutil

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// IsRestartableInitContainer reports whether an init container is a sidecar, which runs as long as
// the pod. The container must be an init container.
func IsRestartableInitContainer(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// HasRestartableInitContainer reports whether the pod has a sidecar.
func HasRestartableInitContainer(pod *v1.Pod) bool {
	for i := range pod.Spec.InitContainers {
		if IsRestartableInitContainer(&pod.Spec.InitContainers[i]) {
			return true
		}
	}
	return false
}

// Containers iterates over the init containers of a pod, then over the regular containers.
func Containers(spec *v1.PodSpec) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// IsInit reports whether a container is an ordinary init container, which ends before the others
// start.
func IsInit(spec *v1.PodSpec, c *v1.Container) bool {
	return !IsRestartableInitContainer(c) &&
		slices.ContainsFunc(spec.InitContainers, func(i v1.Container) bool { return i.Name == c.Name })
}

// DebugTarget returns the container whose processes an ephemeral container of the pod sees, if it
// names one. It is empty for other containers.
func DebugTarget(pod *v1.Pod, name string) string {
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i]; c.Name == name {
			return c.TargetContainerName
		}
	}
	return ""
}

// Find returns the regular or init container with that name, or nil.
func Find(pod *v1.Pod, name string) *v1.Container {
	for c := range Containers(&pod.Spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// ProbeOf returns the probe of a type of a container (liveness, readiness or startup), or nil if
// the container does not have it.
func ProbeOf(c *v1.Container, probeType string) *v1.Probe {
	switch probeType {
	case "startup":
		return c.StartupProbe
	case "readiness":
		return c.ReadinessProbe
	case "liveness":
		return c.LivenessProbe
	}
	return nil
}

// Threshold returns how many successes or failures of a probe in a row decide. It is 1 for a probe
// that does not exist.
func Threshold(p *v1.Probe, success bool) int {
	switch {
	case p == nil:
		return 1
	case success:
		return max(1, int(p.SuccessThreshold))
	default:
		return max(1, int(p.FailureThreshold))
	}
}

// RestartPolicyOf returns the restart policy of a container: its own, otherwise that of the pod. It
// alone decides after a failed probe, without the restart rules of the container
// (computePodActions in pkg/kubelet/kuberuntime at v1.37.0).
func RestartPolicyOf(pod *v1.PodSpec, c *v1.Container) v1.RestartPolicy {
	if c.RestartPolicy != nil {
		return v1.RestartPolicy(*c.RestartPolicy)
	}
	return pod.RestartPolicy
}

// ContainerShouldRestart reports whether a container restarts after an exit with this code. The
// first matching restart rule of the container decides, otherwise its restart policy, otherwise the
// restart policy of the pod.
func ContainerShouldRestart(c *v1.Container, pod *v1.PodSpec, exitCode int32) bool {
	if c.RestartPolicy == nil {
		return restarts(string(pod.RestartPolicy), exitCode)
	}
	switch actionFor(c, exitCode) {
	case Restart, RestartAllContainers:
		return true
	}
	return restarts(string(*c.RestartPolicy), exitCode)
}

// actionFor returns the action of the first restart rule that matches an exit code, or an empty
// action (FindMatchingContainerRestartRule).
func actionFor(c *v1.Container, exitCode int32) string {
	for _, rule := range RestartPolicyRules(c) {
		if rule.matches(exitCode) {
			return rule.Action
		}
	}
	return ""
}

// restarts reports whether a restart policy, of a pod or of a container, restarts after an exit
// with this code.
func restarts(policy string, exitCode int32) bool {
	switch policy {
	case string(v1.RestartPolicyNever):
		return false
	case string(v1.RestartPolicyOnFailure):
		return exitCode != 0
	}
	return true
}
