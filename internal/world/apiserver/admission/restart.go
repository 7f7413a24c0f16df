package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
)

const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

// validateInitRestart checks the restart policy of an init container that is not a sidecar. It does
// not check rules without a policy. (validateInitContainerRestartPolicy)
func validateInitRestart(c *v1.Container, path *field.Path) field.ErrorList {
	if c.RestartPolicy == nil && len(podutil.RestartPolicyRules(c)) > 0 {
		return field.ErrorList{requirePolicy(path)}
	}
	return validateRestart(c, path)
}

func requirePolicy(path *field.Path) *field.Error {
	return field.Required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used")
}

// validateRestart checks the restart policy of a container and its rules.
// (validateContainerRestartPolicy)
func validateRestart(c *v1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	list := podutil.RestartPolicyRules(c)
	switch {
	case c.RestartPolicy != nil:
		errs = oneOf(path.Child("restartPolicy"), v1.RestartPolicy(*c.RestartPolicy),
			v1.RestartPolicyAlways, v1.RestartPolicyNever, v1.RestartPolicyOnFailure)
	case len(list) > 0:
		errs = field.ErrorList{requirePolicy(path)}
	}
	rules := path.Child("restartPolicyRules")
	if n := len(list); n > maxRestartRules {
		errs = append(errs, field.TooMany(rules, n, maxRestartRules))
	}
	for i := range list {
		errs = append(errs, validateRestartRule(&list[i], rules.Index(i))...)
	}
	return errs
}

func validateRestartRule(rule *podutil.RestartRule, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("action"), rule.Action, podutil.Restart, podutil.RestartAllContainers)
	codes := path.Child("exitCodes")
	if rule.ExitCodes == nil {
		return append(errs, field.Required(codes, "must be specified"))
	}
	errs = append(errs, oneOf(codes.Child("operator"), rule.ExitCodes.Operator, podutil.In, podutil.NotIn)...)
	if n := len(rule.ExitCodes.Values); n > maxExitCodes {
		errs = append(errs, field.TooMany(codes.Child("values"), n, maxExitCodes))
	}
	return errs
}
