package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
)

// validateContainer checks a regular container. names are the names of the containers before it;
// grace is the grace period of the pod in seconds. (validateContainers)
func validateContainer(s scope, c *v1.Container, names sets.Set[string], grace int64) {
	validateCommon(s, c, names)
	validateRestartPolicy(s, c)
	validateRestartRules(s.at("restartPolicyRules"), c)
	validateLifecycle(s.at("lifecycle"), c, grace)
	validateProbes(s, c)
}

// validateInitContainer checks an init container. Only a sidecar, whose restart policy is Always,
// can have probes and hooks. Rules without a policy are not checked. (validateInitContainers)
func validateInitContainer(s scope, c *v1.Container, names sets.Set[string], grace int64) {
	if podutil.IsRestartableInitContainer(c) {
		validateContainer(s, c, names, grace)
		return
	}
	validateCommon(s, c, names)
	if validateRestartPolicy(s, c); c.RestartPolicy != nil {
		validateRestartRules(s.at("restartPolicyRules"), c)
	}
	const sidecarsOnly = "may not be set for init containers without restartPolicy=Always"
	s.at("lifecycle").forbid(c.Lifecycle != nil, sidecarsOnly)
	for _, probe := range podutil.Probes(c) {
		s.at(probe.Field).forbid(true, sidecarsOnly)
	}
	for i, policy := range c.ResizePolicy {
		s.at("resizePolicy").index(i).at("restartPolicy").invalid(policy.RestartPolicy == v1.RestartContainer,
			policy.RestartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers")
	}
}

// validateCommon checks the fields of regular and init containers alike. (validateContainerCommon)
func validateCommon(s scope, c *v1.Container, names sets.Set[string]) {
	name := s.at("name")
	if name.require(c.Name != "", ""); c.Name != "" {
		name.invalidFor(c.Name, validation.IsDNS1123Label(c.Name))
	}
	if names.Has(c.Name) {
		name.add(field.Duplicate(name.path, c.Name))
	}
	names.Insert(c.Name)
	s.at("image").require(c.Image != "", "")
	oneOf(s.at("imagePullPolicy"), c.ImagePullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
	validatePorts(s.at("ports"), c.Ports)
	validateResources(s.at("resources"), &c.Resources)
}
