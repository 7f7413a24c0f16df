package podspec

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/sim/podutil"
	"probesim.dev/sim/profile"
)

// ValidateGated returns why the API server of a version would not create a pod that Validate has nothing against, as the
// feature gates of the version are. What it takes out of pods without a word is no error.
func ValidateGated(p profile.Profile, pod *v1.Pod) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec")
	for i := range pod.Spec.Containers {
		errs = append(errs, validateActions(p, &pod.Spec.Containers[i], path.Child("containers").Index(i))...)
	}
	for i := range pod.Spec.InitContainers {
		c, path := &pod.Spec.InitContainers[i], path.Child("initContainers").Index(i)
		if podutil.IsRestartableInitContainer(c) && len(c.RestartPolicyRules) > 0 && p.ContainerRestartRules && !p.RestartAllContainers {
			errs = append(errs, field.Forbidden(path.Child("restartPolicyRules"),
				"restartPolicyRules are not allowed for init containers with restart policy Always"))
			continue
		}
		errs = append(errs, validateActions(p, c, path)...)
	}
	return errs
}

// validateActions checks which actions of restart rules there are. (validateContainerRestartPolicy)
func validateActions(p profile.Profile, c *v1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range c.RestartPolicyRules {
		if p.ContainerRestartRules && !p.RestartAllContainers && c.RestartPolicyRules[i].Action == podutil.RestartAllContainers {
			errs = append(errs, oneOf(path.Child("restartPolicyRules").Index(i).Child("action"), podutil.RestartAllContainers, v1.ContainerRestartRuleActionRestart)...)
		}
	}
	return errs
}
