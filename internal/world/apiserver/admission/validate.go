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
	errs := validatePod(pod)
	if len(pod.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "ephemeralContainers"), "cannot be set on create"))
	}
	return errs
}

// validatePod returns the errors of a new or updated pod. (validatePodMetadataAndSpec)
func validatePod(pod *v1.Pod) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&pod.ObjectMeta, true, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
	if pod.UID != UID(pod.Namespace, pod.Name) && !uidPattern.MatchString(string(pod.UID)) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "uid"), pod.UID,
			"must consist of lower case alphanumeric characters, '-' or '.'"))
	}
	return append(errs, validateSpec(&pod.Spec, field.NewPath("spec"))...)
}

// validateSpec is ValidatePodSpec.
func validateSpec(spec *v1.PodSpec, path *field.Path) field.ErrorList {
	errs := validateReadinessGates(spec.ReadinessGates, path.Child("readinessGates"))
	errs = append(errs, oneOf(path.Child("restartPolicy"), spec.RestartPolicy,
		v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)...)
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil && (*deadline < 1 || *deadline > math.MaxInt32) {
		errs = append(errs, field.Invalid(path.Child("activeDeadlineSeconds"), *deadline,
			validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), ""))
	}
	if spec.TerminationGracePeriodSeconds == nil {
		errs = append(errs, field.Required(path.Child("terminationGracePeriodSeconds"), ""))
	}
	grace := ptr.Deref(spec.TerminationGracePeriodSeconds, math.MaxInt64)
	names := sets.New[string]()
	for i := range spec.Containers {
		errs = append(errs, validateContainer(&spec.Containers[i], names, grace, path.Child("containers").Index(i))...)
	}
	for i := range spec.InitContainers {
		errs = append(errs, validateInitContainer(&spec.InitContainers[i], names, grace,
			path.Child("initContainers").Index(i))...)
	}
	return append(errs, validateResizePolicies(spec, path)...)
}

// validateReadinessGates is the function of that name.
func validateReadinessGates(gates []v1.PodReadinessGate, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range gates {
		errs = append(errs, invalid(path.Index(i).Child("conditionType"), string(gate.ConditionType),
			validation.IsQualifiedName(string(gate.ConditionType)))...)
	}
	return errs
}

// invalid returns an Invalid error for each message.
func invalid(path *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, m := range messages {
		errs = append(errs, field.Invalid(path, value, m))
	}
	return errs
}

func oneOf[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	for _, s := range supported {
		if value == s {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}

func nonNegative(path *field.Path, value int64) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(value, path)
}
