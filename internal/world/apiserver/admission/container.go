package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// validatePorts is validateContainerPorts, without ports of the node.
func validatePorts(s scope, ports []v1.ContainerPort) {
	names := sets.New[string]()
	for i, port := range ports {
		at := s.index(i)
		name, number := at.at("name"), at.at("containerPort")
		if messages := validation.IsValidPortName(port.Name); port.Name != "" && len(messages) > 0 {
			name.invalidFor(port.Name, messages)
		} else if names.Has(port.Name) {
			name.add(field.Duplicate(name.path, port.Name))
		} else if port.Name != "" {
			names.Insert(port.Name)
		}
		if number.require(port.ContainerPort != 0, ""); port.ContainerPort != 0 {
			number.invalidFor(port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))
		}
		oneOf(at.at("protocol"), port.Protocol, v1.ProtocolSCTP, v1.ProtocolTCP, v1.ProtocolUDP)
	}
}

// validateResources checks the requests and limits of a container. It does not check the amounts of
// huge pages and of resources that extensions define. (validateResourceRequirements)
func validateResources(s scope, r *v1.ResourceRequirements) {
	limits, requests := s.at("limits"), s.at("requests")
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		validateAmount(limits.key(string(name)), name, r.Limits[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		validateAmount(requests.key(string(name)), name, request)
		if limit, limited := r.Limits[name]; limited {
			requests.invalid(request.Cmp(limit) > 0, request.String(),
				fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()))
		}
	}
}

// validateAmount checks the name of a resource and its amount. (ValidateContainerResourceName and
// ValidateResourceQuantityValue)
func validateAmount(s scope, name v1.ResourceName, q resource.Quantity) {
	known := slices.Contains(resizable, name) || name == v1.ResourceEphemeralStorage ||
		strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
	s.invalid(!known && !strings.Contains(string(name), "/"), name, "must be a standard resource for containers")
	s.invalid(q.Sign() < 0, q.String(), "must be greater than or equal to 0")
}

// resizable are the resources that a resize can change.
var resizable = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}

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
