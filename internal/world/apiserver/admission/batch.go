package admission

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// maxCronJobName leaves room for the suffix in the names of the CronJob's Jobs.
const maxCronJobName = validation.DNS1035LabelMaxLength - 11

// DefaultJob sets the API server's defaults of the fields that ValidateJob reads. (SetDefaults_Job
// in pkg/apis/batch/v1)
func DefaultJob(o *batchv1.Job) {
	defaultJobSpec(&o.Spec)
	if len(o.Labels) == 0 {
		o.Labels = o.Spec.Template.Labels
	}
}

// defaultJobSpec sets the default parallelism, and the default completions of a Job without
// parallelism. The API server does not set them in the template of a CronJob, only in its Jobs.
func defaultJobSpec(spec *batchv1.JobSpec) {
	if spec.Parallelism != nil {
		return
	}
	if spec.Parallelism = ptr.To[int32](1); spec.Completions == nil {
		spec.Completions = ptr.To[int32](1)
	}
}

// ValidateJob returns the errors with which the API server rejects a Job. The defaults must be set.
// It checks the fields that the simulator reads, without the spec of the pods and the generated
// part of the selector. The rules for Jobs and CronJobs are in pkg/apis/batch/validation at
// v1.37.0. (ValidateJobCreate)
func ValidateJob(o *batchv1.Job) field.ErrorList {
	errs := validateMeta(&o.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateJobSpec(&o.Spec, field.NewPath("spec"))...)
	if ptr.Deref(o.Spec.ManualSelector, false) {
		errs = append(errs, validateSelector("job", o.Spec.Selector, o.Spec.Template.Labels, field.NewPath("spec"))...)
	} else {
		errs = append(errs, metavalidation.ValidateLabelSelector(o.Spec.Selector,
			metavalidation.LabelSelectorValidationOptions{}, field.NewPath("spec", "selector"))...)
		errs = append(errs, validateJobName(o)...)
	}
	return append(errs, validateIndexedName(o)...)
}

// validateJobName rejects a name that is not a valid label value, and pods whose job-name label has
// another value. (generateSelector in pkg/registry/batch/job, validateGeneratedSelector)
func validateJobName(o *batchv1.Job) field.ErrorList {
	if o.Name == "" {
		return nil
	}
	var errs field.ErrorList
	path, labels := field.NewPath("spec", "template", "metadata", "labels"), o.Spec.Template.Labels
	for _, key := range []string{batchv1.JobNameLabel, "job-name"} {
		name, given := labels[key]
		if !given {
			errs = append(errs, metavalidation.ValidateLabels(map[string]string{key: o.Name}, path)...)
		} else if name != o.Name {
			errs = append(errs, field.Invalid(path.Key(key), labels, fmt.Sprintf("must be '%s'", o.Name)))
		}
	}
	return errs
}

// ValidateCronJob returns the errors with which the API server rejects a CronJob. Its selector is
// always generated. (ValidateCronJobCreate, ValidateJobTemplateSpec)
func ValidateCronJob(o *batchv1.CronJob) field.ErrorList {
	errs := validateMeta(&o.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	if len(o.Name) > maxCronJobName {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), o.Name,
			fmt.Sprintf("must be no more than %d characters", maxCronJobName)))
	}
	errs = append(errs, ValidateSchedule(o.Spec.Schedule, field.NewPath("spec", "schedule"))...)
	job, path := &o.Spec.JobTemplate.Spec, field.NewPath("spec", "jobTemplate", "spec")
	if job.Selector != nil {
		errs = append(errs, field.Invalid(path.Child("selector"), job.Selector, "`selector` will be auto-generated"))
	}
	if ptr.Deref(job.ManualSelector, false) {
		errs = append(errs, field.NotSupported(path.Child("manualSelector"), job.ManualSelector,
			[]string{"nil", "false"}))
	}
	return append(errs, validateJobSpec(job, path)...)
}

// validateJobSpec checks the numbers of pods, and the restart policy that a podFailurePolicy
// requires.
func validateJobSpec(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	errs := nonNegativeIfSet(path.Child("parallelism"), spec.Parallelism)
	errs = append(errs, nonNegativeIfSet(path.Child("completions"), spec.Completions)...)
	if isIndexed(spec) && spec.Completions == nil {
		errs = append(errs, field.Required(path.Child("completions"), "when completion mode is Indexed"))
	}
	if policy := spec.Template.Spec.RestartPolicy; spec.PodFailurePolicy != nil && policy == v1.RestartPolicyOnFailure {
		errs = append(errs, field.Invalid(path.Child("template", "spec", "restartPolicy"), policy,
			`only "Never" is supported when podFailurePolicy is specified`))
	}
	return errs
}

func isIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

// validateIndexedName rejects a name that is not a valid host name with the last index.
// (validateNameAllowsCompletions)
func validateIndexedName(o *batchv1.Job) field.ErrorList {
	if !isIndexed(&o.Spec) || ptr.Deref(o.Spec.Completions, 0) <= 0 {
		return nil
	}
	host := fmt.Sprintf("%s-%d", o.Name, *o.Spec.Completions-1)
	if len(validation.IsDNS1123Label(host)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), o.Name,
		"will not able to create pod with invalid DNS label: "+host)}
}
