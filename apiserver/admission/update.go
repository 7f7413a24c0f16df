package admission

import (
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateUpdate returns why the API server would not take a pod in the place of another. Of what it would, the
// simulator reads labels, annotations and the images of containers: what else has changed is refused too, save
// what has no effect on a kubelet. (ValidatePodUpdate)
func ValidateUpdate(pod, old *v1.Pod) field.ErrorList {
	meta := pod.ObjectMeta.DeepCopy()
	meta.ResourceVersion = "1" // which a patch need not give
	errs := apivalidation.ValidateObjectMetaUpdate(meta, &old.ObjectMeta, field.NewPath("metadata"))
	path := field.NewPath("spec")
	if len(pod.Spec.Containers) != len(old.Spec.Containers) || len(pod.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return append(errs, field.Forbidden(path, "containers cannot be added to a pod, nor removed"))
	}
	errs = append(errs, Validate(pod)...)
	same := pod.Spec.DeepCopy()
	copyImages(same.Containers, old.Spec.Containers)
	copyImages(same.InitContainers, old.Spec.InitContainers)
	same.Tolerations = old.Spec.Tolerations
	if !apiequality.Semantic.DeepEqual(same, &old.Spec) {
		errs = append(errs, field.Forbidden(path, "of a pod nothing can be changed but the images of its containers"))
	}
	return errs
}

func copyImages(to, from []v1.Container) {
	for i := range to {
		to[i].Image = from[i].Image
	}
}
