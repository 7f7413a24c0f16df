package admission

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

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
	errs := validateMeta(&o.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateNumbers(&o.Spec, field.NewPath("spec"))...)
	label := map[string]string{batchv1.JobNameLabel: o.Name}
	return append(errs, metavalidation.ValidateLabels(label,
		field.NewPath("spec", "template", "metadata", "labels"))...)
}

// ValidateCronJob returns the errors with which the API server rejects the metadata of a CronJob,
// and the numbers of pods of its Jobs. (ValidateCronJobCreate)
func ValidateCronJob(o *batchv1.CronJob) field.ErrorList {
	errs := validateMeta(&o.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	if len(o.Name) > maxCronJobName {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), o.Name,
			fmt.Sprintf("must be no more than %d characters", maxCronJobName)))
	}
	return append(errs, validateNumbers(&o.Spec.JobTemplate.Spec, field.NewPath("spec", "jobTemplate", "spec"))...)
}

func validateNumbers(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	return append(nonNegativeIfSet(path.Child("parallelism"), spec.Parallelism),
		nonNegativeIfSet(path.Child("completions"), spec.Completions)...)
}
