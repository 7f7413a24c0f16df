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
func validateContainer(c *v1.Container, names sets.Set[string], grace int64, path *field.Path) field.ErrorList {
	errs := validateCommon(c, names, path)
	errs = append(errs, validateRestart(c, path)...)
	errs = append(errs, validateLifecycle(c, grace, path.Child("lifecycle"))...)
	return append(errs, validateProbes(c, path)...)
}

// validateInitContainer checks an init container. Only a sidecar, whose restart policy is Always,
// can have probes and hooks. (validateInitContainers)
func validateInitContainer(c *v1.Container, names sets.Set[string], grace int64, path *field.Path) field.ErrorList {
	if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
		return validateContainer(c, names, grace, path)
	}
	errs := append(validateCommon(c, names, path), validateInitRestart(c, path)...)
	forbid := func(name string) {
		errs = append(errs, field.Forbidden(path.Child(name),
			"may not be set for init containers without restartPolicy=Always"))
	}
	if c.Lifecycle != nil {
		forbid("lifecycle")
	}
	for _, probe := range podutil.Probes(c) {
		forbid(probe.Field)
	}
	for i, policy := range c.ResizePolicy {
		if policy.RestartPolicy == v1.RestartContainer {
			errs = append(errs, field.Invalid(path.Child("resizePolicy").Index(i).Child("restartPolicy"),
				policy.RestartPolicy,
				"must not be set to 'RestartContainer' for non-sidecar initContainers"))
		}
	}
	return errs
}

// validateCommon checks the fields of regular and init containers alike. (validateContainerCommon)
func validateCommon(c *v1.Container, names sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else {
		errs = append(errs, invalid(path.Child("name"), c.Name, validation.IsDNS1123Label(c.Name))...)
	}
	if names.Has(c.Name) {
		errs = append(errs, field.Duplicate(path.Child("name"), c.Name))
	}
	names.Insert(c.Name)
	if c.Image == "" {
		errs = append(errs, field.Required(path.Child("image"), ""))
	}
	errs = append(errs, oneOf(path.Child("imagePullPolicy"), c.ImagePullPolicy, v1.PullAlways, v1.PullIfNotPresent,
		v1.PullNever)...)
	errs = append(errs, validatePorts(c.Ports, path.Child("ports"))...)
	return append(errs, validateResources(&c.Resources, path.Child("resources"))...)
}
