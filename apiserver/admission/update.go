package admission

import (
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/kube/podutil"
)

// ValidateUpdate returns the errors with which the simulator rejects an update of old to pod. The API server rejects most of
// these updates too. The metadata, the images of containers and the tolerations can change; the API server also accepts some
// other changes, which are not simulated. (ValidatePodUpdate)
func ValidateUpdate(pod, old *v1.Pod) field.ErrorList {
	meta := pod.ObjectMeta.DeepCopy()
	meta.ResourceVersion = "1" // a patch does not need one
	errs := apivalidation.ValidateObjectMetaUpdate(meta, &old.ObjectMeta, field.NewPath("metadata"))
	switch before, after := old.Annotations[v1.MirrorPodAnnotationKey], pod.Annotations[v1.MirrorPodAnnotationKey]; { // ValidatePodSpecificAnnotationUpdates
	case podutil.IsMirror(pod) && !podutil.IsMirror(old):
		errs = append(errs, field.Forbidden(mirrorPath, "may not add mirror pod annotation"))
	case podutil.IsMirror(pod) != podutil.IsMirror(old) || before != after:
		errs = append(errs, field.Forbidden(mirrorPath, "may not remove or update mirror pod annotation"))
	}
	path := field.NewPath("spec")
	if len(pod.Spec.Containers) != len(old.Spec.Containers) || len(pod.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return append(errs, field.Forbidden(path, "a patch cannot add or remove containers"))
	}
	errs = append(errs, validatePod(pod)...)
	same := pod.Spec.DeepCopy()
	copyImages(same.Containers, old.Spec.Containers)
	copyImages(same.InitContainers, old.Spec.InitContainers)
	same.Tolerations = old.Spec.Tolerations
	if !apiequality.Semantic.DeepEqual(same, &old.Spec) {
		errs = append(errs, field.Forbidden(path, "a patch can change only the images of containers"))
	}
	return errs
}

func copyImages(to, from []v1.Container) {
	for i := range to {
		to[i].Image = from[i].Image
	}
}
