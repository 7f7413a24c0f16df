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
