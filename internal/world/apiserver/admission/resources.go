package admission

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateResources checks the requests and limits of a container. (validateResourceRequirements)
func validateResources(r *v1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	limits, requests := path.Child("limits"), path.Child("requests")
	for _, name := range sortedNames(r.Limits) {
		errs = append(errs, validateAmount(name, r.Limits[name], limits.Key(string(name)))...)
	}
	for _, name := range sortedNames(r.Requests) {
		request := r.Requests[name]
		errs = append(errs, validateAmount(name, request, requests.Key(string(name)))...)
		limit, limited := r.Limits[name]
		switch {
		case !limited && !isOvercommitAllowed(name):
			errs = append(errs, field.Required(limits, "Limit must be set for non overcommitable resources"))
		case limited && request.Cmp(limit) != 0 && !isOvercommitAllowed(name):
			errs = append(errs, field.Invalid(requests, request.String(),
				fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(requests, request.String(),
				fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
	names := append(sortedNames(r.Limits), sortedNames(r.Requests)...)
	if slices.ContainsFunc(names, isHugePages) && !slices.ContainsFunc(names, isResizable) {
		errs = append(errs, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	return errs
}

// validateAmount checks the name of a resource and its amount. (ValidateContainerResourceName and
// ValidateResourceQuantityValue)
func validateAmount(name v1.ResourceName, q resource.Quantity, path *field.Path) field.ErrorList {
	errs := validateResourceName(name, path)
	if q.Sign() < 0 {
		errs = append(errs, field.Invalid(path, q.String(), "must be greater than or equal to 0"))
	}
	if isExtended(name) && q.MilliValue()%1000 != 0 {
		errs = append(errs, field.Invalid(path, q, "must be an integer"))
	}
	if isHugePages(name) && !isDivisible(name, q) {
		errs = append(errs, field.Invalid(path, q.String(),
			fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name)))
	}
	return errs
}

// ofQuotas are the names of resources that only quotas have. (standardResources)
var ofQuotas = []v1.ResourceName{
	v1.ResourceRequestsCPU, v1.ResourceRequestsMemory, v1.ResourceRequestsEphemeralStorage, v1.ResourceLimitsCPU,
	v1.ResourceLimitsMemory,
	v1.ResourceLimitsEphemeralStorage, v1.ResourcePods, v1.ResourceQuotas, v1.ResourceServices,
	v1.ResourceReplicationControllers,
	v1.ResourceSecrets, v1.ResourceConfigMaps, v1.ResourcePersistentVolumeClaims, v1.ResourceStorage,
	v1.ResourceRequestsStorage,
	v1.ResourceServicesNodePorts, v1.ResourceServicesLoadBalancers,
}

func validateResourceName(name v1.ResourceName, path *field.Path) field.ErrorList {
	errs := invalid(path, name, validation.IsQualifiedName(string(name)))
	ofContainers := isResizable(name) || name == v1.ResourceEphemeralStorage || isHugePages(name)
	switch {
	case strings.Contains(string(name), "/"):
		if !isNative(name) && !isExtended(name) {
			errs = append(errs, field.Invalid(path, name, "doesn't follow extended resource name standard"))
		}
	case ofContainers:
	case len(errs) == 0 && !slices.Contains(ofQuotas, name) &&
		!strings.HasPrefix(string(name), v1.ResourceRequestsHugePagesPrefix):
		errs = append(errs, field.Invalid(path, name, "must be a standard resource type or fully qualified"))
		fallthrough
	default:
		errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
	}
	return errs
}

// resizable are the resources that a resize can change.
var resizable = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}

func isResizable(name v1.ResourceName) bool { return slices.Contains(resizable, name) }

func isHugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// isDivisible reports whether an amount of huge pages is a multiple of their size.
// (IsHugePageResourceValueDivisible)
func isDivisible(name v1.ResourceName, q resource.Quantity) bool {
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), v1.ResourceHugePagesPrefix))
	return err == nil && size.Sign() > 0 && size.MilliValue()%1000 == 0 && q.Value()%size.Value() == 0
}

// isNative reports whether Kubernetes defines the resource. (IsNativeResource)
func isNative(name v1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix)
}

// isExtended reports whether an extension of Kubernetes defines the resource.
// (IsExtendedResourceName)
func isExtended(name v1.ResourceName) bool {
	return !isNative(name) && !strings.HasPrefix(string(name), v1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// isOvercommitAllowed reports whether the request of the resource can differ from its limit.
// (IsOvercommitAllowed)
func isOvercommitAllowed(name v1.ResourceName) bool { return isNative(name) && !isHugePages(name) }

func sortedNames(list v1.ResourceList) []v1.ResourceName {
	var names []v1.ResourceName
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
