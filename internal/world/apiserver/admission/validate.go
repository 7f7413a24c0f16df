package admission

import (
	"math"
	"regexp"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// uidPattern is the format of the UID in a pod. The API server generates UIDs and has no rule for
// their format; the kubelet uses them as names of directories.
var uidPattern = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

// Validate returns the errors with which the API server rejects a new pod. The defaults must be
// set. It checks the fields that the simulator reads. Paths start with metadata and spec.
// (ValidatePodCreate)
func Validate(pod *v1.Pod) field.ErrorList {
	return errorsIn(nil, func(s scope) {
		validatePod(s, pod)
		s.at("spec", "ephemeralContainers").forbid(len(pod.Spec.EphemeralContainers) > 0, "cannot be set on create")
	})
}

// validatePod checks a new or updated pod. (validatePodMetadataAndSpec)
func validatePod(s scope, pod *v1.Pod) {
	s.add(apivalidation.ValidateObjectMeta(&pod.ObjectMeta, true, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))...)
	s.at("metadata", "uid").invalid(
		pod.UID != UID(pod.Namespace, pod.Name) && !uidPattern.MatchString(string(pod.UID)), pod.UID,
		"must consist of lower case alphanumeric characters, '-' or '.'")
	validateSpec(s.at("spec"), &pod.Spec)
}

// validateSpec is ValidatePodSpec.
func validateSpec(s scope, spec *v1.PodSpec) {
	for i, gate := range spec.ReadinessGates { // validateReadinessGates
		s.at("readinessGates").index(i).at("conditionType").invalidFor(string(gate.ConditionType),
			validation.IsQualifiedName(string(gate.ConditionType)))
	}
	oneOf(s.at("restartPolicy"), spec.RestartPolicy, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure,
		v1.RestartPolicyNever)
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil {
		s.at("activeDeadlineSeconds").invalid(*deadline < 1 || *deadline > math.MaxInt32, *deadline,
			validation.InclusiveRangeError(1, math.MaxInt32))
	}
	s.at("containers").require(len(spec.Containers) > 0, "")
	s.at("terminationGracePeriodSeconds").require(spec.TerminationGracePeriodSeconds != nil, "")
	grace, names := ptr.Deref(spec.TerminationGracePeriodSeconds, math.MaxInt64), sets.New[string]()
	eachContainer(s, spec, func(s scope, c *v1.Container, init bool) {
		if init {
			validateInitContainer(s, c, names, grace)
		} else {
			validateContainer(s, c, names, grace)
		}
		validateResizePolicy(s.at("resizePolicy"), c, spec.RestartPolicy)
	})
}
