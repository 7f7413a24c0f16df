package admission

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
	"probesim.dev/kube/profile"
)

// ValidateUpdate returns the errors with which the simulator rejects an update of old to pod. The
// API server rejects most of these updates too. The metadata, the images of containers and the
// tolerations can change, and with the feature gate MutableContainerProbes the probes; the API
// server also accepts some other changes, which are not simulated. (ValidatePodUpdate)
func ValidateUpdate(p profile.Profile, pod, old *v1.Pod) field.ErrorList {
	meta := pod.ObjectMeta.DeepCopy()
	meta.ResourceVersion = "1" // a patch does not need one
	errs := apivalidation.ValidateObjectMetaUpdate(meta, &old.ObjectMeta, field.NewPath("metadata"))
	// ValidatePodSpecificAnnotationUpdates
	switch before, after := old.Annotations[v1.MirrorPodAnnotationKey], pod.Annotations[v1.MirrorPodAnnotationKey]; {
	case podutil.IsMirror(pod) && !podutil.IsMirror(old):
		errs = append(errs, field.Forbidden(mirrorPath, "may not add mirror pod annotation"))
	case podutil.IsMirror(pod) != podutil.IsMirror(old) || before != after:
		errs = append(errs, field.Forbidden(mirrorPath, "may not remove or update mirror pod annotation"))
	}
	path := field.NewPath("spec")
	if len(pod.Spec.Containers) != len(old.Spec.Containers) ||
		len(pod.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return append(errs, field.Forbidden(path, "a patch cannot add or remove containers"))
	}
	errs = append(errs, validatePod(pod)...)
	same := pod.Spec.DeepCopy()
	for _, list := range []struct {
		name     string
		new, old []v1.Container
	}{{"containers", same.Containers, old.Spec.Containers},
		{"initContainers", same.InitContainers, old.Spec.InitContainers}} {
		for i := range list.new {
			errs = append(errs, validateProbeUpdate(p, &list.new[i], &list.old[i], old,
				path.Child(list.name).Index(i))...)
			list.new[i].Image = list.old[i].Image
		}
	}
	same.Tolerations = old.Spec.Tolerations
	if !apiequality.Semantic.DeepEqual(same, &old.Spec) {
		what := "images"
		if p.MutableContainerProbes {
			what = "images and probes"
		}
		errs = append(errs, field.Forbidden(path, fmt.Sprintf("a patch can change only the %s of containers", what)))
	}
	return errs
}

// validateProbeUpdate returns the errors about the probes of a container that an update changes,
// and sets them to what they were. The probes of a pod can change while it runs, but not those of a
// static pod, which come from its manifest (keps/sig-node/6318-mutable-container-probes/README.md
// in kubernetes/enhancements#6323, not compared).
func validateProbeUpdate(p profile.Profile, c, old *v1.Container, pod *v1.Pod, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, probe := range []struct {
		name     string
		new, old **v1.Probe
	}{
		{"livenessProbe", &c.LivenessProbe, &old.LivenessProbe},
		{"readinessProbe", &c.ReadinessProbe, &old.ReadinessProbe},
		{"startupProbe", &c.StartupProbe, &old.StartupProbe},
	} {
		changed := !apiequality.Semantic.DeepEqual(*probe.new, *probe.old)
		*probe.new = *probe.old
		switch path := path.Child(probe.name); {
		case !changed:
		case !p.MutableContainerProbes:
			errs = append(errs, field.Forbidden(path,
				fmt.Sprintf("a patch can change a probe only with the feature gate MutableContainerProbes, which %s",
					lacks(p))))
		case podutil.IsStatic(pod) || podutil.IsMirror(pod):
			errs = append(errs, field.Forbidden(path, "the probes of a static pod come from its manifest"))
		case pod.DeletionTimestamp != nil:
			errs = append(errs, field.Forbidden(path, "may not be changed while the pod terminates"))
		case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
			errs = append(errs, field.Forbidden(path, "may not be changed after the pod has terminated"))
		}
	}
	return errs
}

// lacks says why the gate MutableContainerProbes is not on.
func lacks(p profile.Profile) string {
	if slices.ContainsFunc(p.Gates(), func(g profile.Gate) bool { return g.Name == "MutableContainerProbes" }) {
		return "is off"
	}
	return p.Version + " does not have"
}
