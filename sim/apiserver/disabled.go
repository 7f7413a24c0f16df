package apiserver

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim/profile"
)

// DropDisabled takes out of the spec of a pod what the API server of a version does not keep, as the feature gate for it
// is off: without ContainerRestartRules the restart policies of containers, but for those that make sidecars, and
// their rules. (dropContainerRestartRules in pkg/api/pod/util.go at v1.34.4)
func DropDisabled(p profile.Profile, spec *v1.PodSpec) {
	if p.ContainerRestartRules {
		return
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		c.RestartPolicyRules = nil
		if c.RestartPolicy != nil && *c.RestartPolicy != v1.ContainerRestartPolicyAlways {
			c.RestartPolicy = nil
		}
	}
	for i := range spec.Containers {
		spec.Containers[i].RestartPolicy, spec.Containers[i].RestartPolicyRules = nil, nil
	}
}
