package admission

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateController returns the errors with which the API server rejects a Deployment, ReplicaSet,
// StatefulSet or DaemonSet. It checks the fields that the simulator reads, without the spec of the
// pods. The texts about a ReplicaSet say deployment, as in the API server. The rules for workloads
// are in pkg/apis/apps/validation at v1.37.0. (ValidateDeployment, ValidateReplicaSet,
// ValidateStatefulSet, ValidateDaemonSet)
func ValidateController(kind string, meta *metav1.ObjectMeta, replicas *int32, selector *metav1.LabelSelector,
	template *v1.PodTemplateSpec) field.ErrorList {
	name := apivalidation.NameIsDNSSubdomain
	if kind == "StatefulSet" { // its name is part of the host names of its pods
		name = apivalidation.NameIsDNSLabel
	}
	said, deadlineOf := strings.ToLower(kind), kind
	if kind == "Deployment" || kind == "ReplicaSet" {
		said, deadlineOf = "deployment", "ReplicaSet"
	}
	path := field.NewPath("spec")
	errs := append(validateMeta(meta, name), nonNegativeIfSet(path.Child("replicas"), replicas)...)
	errs = append(errs, validateSelector(said, selector, template.Labels, path)...)
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("template", "spec", "activeDeadlineSeconds"),
			fmt.Sprintf("activeDeadlineSeconds in %s is not Supported", deadlineOf)))
	}
	return errs
}

// ValidateCustomResource returns the errors with which the API server rejects the metadata of any
// custom resource.
func ValidateCustomResource(meta *metav1.ObjectMeta) field.ErrorList {
	return validateMeta(meta, apivalidation.NameIsDNSSubdomain)
}

// validateMeta checks the metadata of a workload, without the fields that the API server sets
// itself.
func validateMeta(meta *metav1.ObjectMeta, name apivalidation.ValidateNameFunc) field.ErrorList {
	meta = meta.DeepCopy()
	setDefault(&meta.Namespace, v1.NamespaceDefault)
	meta.ManagedFields, meta.Generation = nil, 0
	return apivalidation.ValidateObjectMeta(meta, true, name, field.NewPath("metadata"))
}

// validateSelector rejects a selector that does not match the labels of the template. A missing
// selector is an error of its own, except in a DaemonSet, where it matches nothing.
func validateSelector(kind string, selector *metav1.LabelSelector, template map[string]string,
	spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	path := spec.Child("selector")
	if selector == nil && kind != "daemonset" {
		errs = append(errs, field.Required(path, ""))
	}
	errs = append(errs, metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{},
		path)...)
	if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(path, selector, "empty selector is invalid for "+kind))
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err == nil && !matcher.Matches(labels.Set(template)) {
		errs = append(errs, field.Invalid(spec.Child("template", "metadata", "labels"), template,
			"`selector` does not match template `labels`"))
	}
	return errs
}

func nonNegativeIfSet(path *field.Path, value *int32) field.ErrorList {
	if value == nil {
		return nil
	}
	return nonNegative(path, int64(*value))
}
