package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

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
