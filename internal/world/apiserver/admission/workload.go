package admission

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
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

// maxCronJobName leaves room for the suffix in the names of the CronJob's Jobs.
const maxCronJobName = validation.DNS1035LabelMaxLength - 11

// DefaultJob sets the API server's defaults of the fields that ValidateJob reads. The API server
// does not set the default parallelism and completions in the template of a CronJob, only in its
// Jobs. (SetDefaults_Job in pkg/apis/batch/v1)
func DefaultJob(o *batchv1.Job) {
	if spec := &o.Spec; spec.Parallelism == nil {
		if spec.Parallelism = ptr.To[int32](1); spec.Completions == nil {
			spec.Completions = ptr.To[int32](1)
		}
	}
	if len(o.Labels) == 0 {
		o.Labels = o.Spec.Template.Labels
	}
}

// ValidateJob returns the errors with which the API server rejects the metadata of a Job, whose
// name is also a label of its pods, and the numbers of its pods. The defaults must be set. The
// rules for Jobs and CronJobs are in pkg/apis/batch/validation at v1.37.0. (ValidateJobCreate)
func ValidateJob(o *batchv1.Job) field.ErrorList {
	return errorsIn(nil, func(s scope) {
		validateMeta(s, &o.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		validateNumbers(s.at("spec"), &o.Spec)
		s.add(metavalidation.ValidateLabels(map[string]string{batchv1.JobNameLabel: o.Name},
			field.NewPath("spec", "template", "metadata", "labels"))...)
	})
}

// ValidateCronJob returns the errors with which the API server rejects the metadata of a CronJob,
// and the numbers of pods of its Jobs. (ValidateCronJobCreate)
func ValidateCronJob(o *batchv1.CronJob) field.ErrorList {
	return errorsIn(nil, func(s scope) {
		validateMeta(s, &o.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		s.at("metadata", "name").invalid(len(o.Name) > maxCronJobName, o.Name,
			fmt.Sprintf("must be no more than %d characters", maxCronJobName))
		validateNumbers(s.at("spec", "jobTemplate", "spec"), &o.Spec.JobTemplate.Spec)
	})
}

func validateNumbers(s scope, spec *batchv1.JobSpec) {
	nonNegative(s.at("parallelism"), spec.Parallelism)
	nonNegative(s.at("completions"), spec.Completions)
}
