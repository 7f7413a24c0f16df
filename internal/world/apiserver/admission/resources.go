package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateResources checks the requests and limits of a container. It does not check the amounts of
// huge pages and of resources that extensions define. (validateResourceRequirements)
func validateResources(r *v1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	limits, requests := path.Child("limits"), path.Child("requests")
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		errs = append(errs, validateAmount(name, r.Limits[name], limits.Key(string(name)))...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		errs = append(errs, validateAmount(name, request, requests.Key(string(name)))...)
		if limit, limited := r.Limits[name]; limited && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(requests, request.String(),
				fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
	return errs
}

// validateAmount checks the name of a resource and its amount. (ValidateContainerResourceName and
// ValidateResourceQuantityValue)
func validateAmount(name v1.ResourceName, q resource.Quantity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known := slices.Contains(resizable, name) || name == v1.ResourceEphemeralStorage ||
		strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
	if !known && !strings.Contains(string(name), "/") {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
	}
	if q.Sign() < 0 {
		errs = append(errs, field.Invalid(path, q.String(), "must be greater than or equal to 0"))
	}
	return errs
}

// resizable are the resources that a resize can change.
var resizable = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}
