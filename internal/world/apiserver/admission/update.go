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
	return errorsIn(nil, func(s scope) { validateUpdate(s, p, pod, old) })
}

func validateUpdate(s scope, p profile.Profile, pod, old *v1.Pod) {
	meta := pod.ObjectMeta.DeepCopy()
	meta.ResourceVersion = "1" // a patch does not need one
	s.add(apivalidation.ValidateObjectMetaUpdate(meta, &old.ObjectMeta, field.NewPath("metadata"))...)
	// ValidatePodSpecificAnnotationUpdates
	mirror, was := podutil.IsMirror(pod), podutil.IsMirror(old)
	if at := (scope{mirrorPath, s.errs}); mirror && !was {
		at.forbid(true, "may not add mirror pod annotation")
	} else {
		at.forbid(mirror != was ||
			old.Annotations[v1.MirrorPodAnnotationKey] != pod.Annotations[v1.MirrorPodAnnotationKey],
			"may not remove or update mirror pod annotation")
	}
	if len(pod.Spec.Containers) != len(old.Spec.Containers) ||
		len(pod.Spec.InitContainers) != len(old.Spec.InitContainers) {
		s.at("spec").forbid(true, "a patch cannot add or remove containers")
		return
	}
	validatePod(s, pod)
	eachContainer(s.at("spec"), &pod.Spec, func(s scope, c *v1.Container, _ bool) { validateSupported(s, c) })
	same := pod.Spec.DeepCopy()
	before := slices.Concat(old.Spec.Containers, old.Spec.InitContainers)
	eachContainer(s.at("spec"), same, func(s scope, c *v1.Container, _ bool) {
		validateProbeUpdate(s, p, c, &before[0], old)
		c.Image, before = before[0].Image, before[1:]
	})
	same.Tolerations = old.Spec.Tolerations
	what := "images"
	if p.MutableContainerProbes {
		what = "images and probes"
	}
	s.at("spec").forbid(!apiequality.Semantic.DeepEqual(same, &old.Spec),
		fmt.Sprintf("a patch can change only the %s of containers: a resize changes their resources, and debug adds "+
			"ephemeral ones", what))
}

// validateProbeUpdate checks the probes of a container that an update changes, and sets them to
// what they were. The probes of a pod can change while it runs, but not those of a static pod,
// which come from its manifest (keps/sig-node/6318-mutable-container-probes/README.md in
// kubernetes/enhancements#6323, not compared).
func validateProbeUpdate(s scope, p profile.Profile, c, old *v1.Container, pod *v1.Pod) {
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
		why := ""
		switch {
		case !p.MutableContainerProbes:
			why = "a patch can change a probe only with the feature gate MutableContainerProbes, which " + lacks(p)
		case podutil.IsStatic(pod) || podutil.IsMirror(pod):
			why = "the probes of a static pod come from its manifest"
		case pod.DeletionTimestamp != nil:
			why = "may not be changed while the pod terminates"
		case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
			why = "may not be changed after the pod has terminated"
		}
		s.at(probe.name).forbid(changed && why != "", why)
	}
}

// lacks says why the gate MutableContainerProbes is not on.
func lacks(p profile.Profile) string {
	if slices.ContainsFunc(p.Gates(), func(g profile.Gate) bool { return g.Name == "MutableContainerProbes" }) {
		return "is off"
	}
	return p.Version + " does not have"
}
