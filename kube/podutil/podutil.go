// Package podutil says what follows from the spec of a pod: which of its init containers are sidecars,
// and which containers start again once one has ended. The rules are those of pkg/api/v1/pod/util.go at
// v1.37.0.
package podutil

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// IsRestartableInitContainer reports whether an init container is a sidecar: one that is kept running while the
// pod does. It must be an init container.
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

// Containers are the init containers of a pod and then the regular ones.
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

// Find returns the container of that name, a regular one or an init container, or nil.
func Find(pod *v1.Pod, name string) *v1.Container {
	for c := range Containers(&pod.Spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// ContainerShouldRestart reports whether a container that ended with this code is started again: by the first
// of its own rules that fits, else by its own policy, else by the pod's.
func ContainerShouldRestart(c *v1.Container, pod *v1.PodSpec, exitCode int32) bool {
	if c.RestartPolicy == nil {
		return restarts(string(pod.RestartPolicy), exitCode)
	}
	switch actionFor(c, exitCode) {
	case v1.ContainerRestartRuleActionRestart, RestartAllContainers:
		return true
	}
	return restarts(string(*c.RestartPolicy), exitCode)
}

// actionFor returns the action of the first rule of a container that is about this exit code, or nothing
// (FindMatchingContainerRestartRule).
func actionFor(c *v1.Container, exitCode int32) v1.ContainerRestartRuleAction {
	for i := range c.RestartPolicyRules {
		if rule := &c.RestartPolicyRules[i]; fits(rule, exitCode) {
			return rule.Action
		}
	}
	return ""
}

// restarts is what a policy says, of a pod or of a container: the words are the same.
func restarts(policy string, exitCode int32) bool {
	switch policy {
	case string(v1.RestartPolicyNever):
		return false
	case string(v1.RestartPolicyOnFailure):
		return exitCode != 0
	}
	return true
}

// fits reports whether a rule is about this exit code.
func fits(rule *v1.ContainerRestartRule, exitCode int32) bool {
	if rule.ExitCodes == nil {
		return false
	}
	listed := slices.Contains(rule.ExitCodes.Values, exitCode)
	switch rule.ExitCodes.Operator {
	case v1.ContainerRestartRuleOnExitCodesOpIn:
		return listed
	case v1.ContainerRestartRuleOnExitCodesOpNotIn:
		return !listed
	}
	return false
}
