package podspec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateSelector returns why the API server would not create an object of a kind, in lower case, whose
// selector selects the pods of its template. Paths begin at spec. Only a DaemonSet may be without a
// selector as far as that goes, but then nothing matches. (ValidateDeploymentSpec, ValidateReplicaSetSpec,
// ValidateStatefulSetSpec, ValidateDaemonSetSpec in pkg/apis/apps/validation at v1.37.0)
func ValidateSelector(kind string, selector *metav1.LabelSelector, template map[string]string) field.ErrorList {
	path := field.NewPath("spec", "selector")
	if selector == nil && kind != "daemonset" {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{}, path)
	if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		if kind == "replicaset" {
			kind = "deployment" // so it says
		}
		errs = append(errs, field.Invalid(path, selector, "empty selector is invalid for "+kind))
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err == nil && !matcher.Matches(labels.Set(template)) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "template", "metadata", "labels"), template,
			"`selector` does not match template `labels`"))
	}
	return errs
}
