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
	return errorsIn(nil, func(s scope) {
		validateMeta(s, meta, name)
		spec := s.at("spec")
		nonNegative(spec.at("replicas"), replicas)
		validateSelector(spec, said, selector, template.Labels)
		spec.at("template", "spec", "activeDeadlineSeconds").forbid(template.Spec.ActiveDeadlineSeconds != nil,
			fmt.Sprintf("activeDeadlineSeconds in %s is not Supported", deadlineOf))
	})
}

// ValidateCustomResource returns the errors with which the API server rejects the metadata of any
// custom resource.
func ValidateCustomResource(meta *metav1.ObjectMeta) field.ErrorList {
	return errorsIn(nil, func(s scope) { validateMeta(s, meta, apivalidation.NameIsDNSSubdomain) })
}

// validateMeta checks the metadata of a workload, without the fields that the API server sets
// itself.
func validateMeta(s scope, meta *metav1.ObjectMeta, name apivalidation.ValidateNameFunc) {
	meta = meta.DeepCopy()
	setDefault(&meta.Namespace, v1.NamespaceDefault)
	meta.ManagedFields, meta.Generation = nil, 0
	s.add(apivalidation.ValidateObjectMeta(meta, true, name, field.NewPath("metadata"))...)
}

// validateSelector rejects a selector that does not match the labels of the template. A missing
// selector is an error of its own, except in a DaemonSet, where it matches nothing.
func validateSelector(spec scope, kind string, selector *metav1.LabelSelector, template map[string]string) {
	s := spec.at("selector")
	s.require(selector != nil || kind == "daemonset", "")
	s.add(metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{}, s.path)...)
	s.invalid(selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0, selector,
		"empty selector is invalid for "+kind)
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	spec.at("template", "metadata", "labels").invalid(err == nil && !matcher.Matches(labels.Set(template)), template,
		"`selector` does not match template `labels`")
}
