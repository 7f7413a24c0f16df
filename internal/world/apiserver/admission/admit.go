package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/kube/profile"
)

// podKind is the kind in the errors about pods.
var podKind = v1.SchemeGroupVersion.WithKind("Pod").GroupKind()

// Admit returns a copy of a new pod as the API server of a release stores it: with defaults, and
// without the fields whose feature gates are off. It returns an error that lists all fields the API
// server rejects; apierrors.IsInvalid recognizes it. The error also lists the fields that are not
// supported; see [ValidateSupported]. A pod that has its defaults already keeps its values.
func Admit(p profile.Profile, pod *v1.Pod) (*v1.Pod, error) {
	pod = pod.DeepCopy()
	Default(pod)
	DropDisabled(p, &pod.Spec)
	return pod, asError(pod, slices.Concat(Validate(pod), ValidateGated(p, pod), ValidateSupported(pod)))
}

// asError returns the error of the API server about a pod with invalid fields, or nil if there are
// none.
func asError(pod *v1.Pod, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(podKind, pod.Name, errs)
}
