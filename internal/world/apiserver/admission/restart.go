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

// validateRestartPolicy checks the restart policy of a container, which rules need.
// (validateContainerRestartPolicy)
func validateRestartPolicy(s scope, c *v1.Container) {
	if s = s.at("restartPolicy"); c.RestartPolicy != nil {
		oneOf(s, v1.RestartPolicy(*c.RestartPolicy), v1.RestartPolicyAlways, v1.RestartPolicyNever,
			v1.RestartPolicyOnFailure)
	} else {
		s.require(len(podutil.RestartPolicyRules(c)) == 0, "must specify restartPolicy when restart rules are used")
	}
}

// validateRestartRules checks the restart rules of a container. (validateContainerRestartPolicy)
func validateRestartRules(s scope, c *v1.Container) {
	rules := podutil.RestartPolicyRules(c)
	if n := len(rules); n > maxRestartRules {
		s.add(field.TooMany(s.path, n, maxRestartRules))
	}
	for i, rule := range rules {
		oneOf(s.index(i).at("action"), rule.Action, podutil.Restart, podutil.RestartAllContainers)
		codes := s.index(i).at("exitCodes")
		if codes.require(rule.ExitCodes != nil, "must be specified"); rule.ExitCodes == nil {
			continue
		}
		oneOf(codes.at("operator"), rule.ExitCodes.Operator, podutil.In, podutil.NotIn)
		if n := len(rule.ExitCodes.Values); n > maxExitCodes {
			codes.add(field.TooMany(codes.path.Child("values"), n, maxExitCodes))
		}
	}
}
