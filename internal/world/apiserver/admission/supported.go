package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
)

// unsupported are the fields of a pod that change the behavior of the API server or the kubelet and
// that the simulator does not simulate.
var unsupported = []struct {
	path *field.Path
	what string
	used func(*v1.Pod) bool
}{
	{mirrorPath, "only the kubelet creates mirror pods: remove this annotation to simulate an ordinary pod",
		podutil.IsMirror},
	{field.NewPath("metadata", "finalizers"), "finalizers is not supported yet", func(p *v1.Pod) bool {
		return slices.Contains(p.Finalizers, metav1.FinalizerOrphanDependents) ||
			slices.Contains(p.Finalizers, metav1.FinalizerDeleteDependents)
	}},
	{field.NewPath("spec", "schedulingGates"), "schedulingGates is not supported yet",
		func(p *v1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 }},
	{field.NewPath("spec", "resourceClaims"), "resourceClaims is not supported yet",
		func(p *v1.Pod) bool { return len(p.Spec.ResourceClaims) > 0 }},
	{field.NewPath("spec", "os"), "os is not supported yet",
		func(p *v1.Pod) bool { return p.Spec.OS != nil && p.Spec.OS.Name != v1.Linux }},
}

// ValidateSupported returns an error for each field of a new pod that the API server accepts and
// that the simulator does not simulate. The other annotations of static pods have no effect: the
// kubelet replaces config.source and config.seen in its copy of a pod, and compares config.hash
// only with a mirror pod (pkg/kubelet/config/config.go and pkg/kubelet/pod/mirror_client.go at
// v1.37.0).
func ValidateSupported(pod *v1.Pod) field.ErrorList {
	var errs field.ErrorList
	for _, u := range unsupported {
		if u.used(pod) {
			errs = append(errs, field.Forbidden(u.path, u.what))
		}
	}
	return errs
}

var mirrorPath = field.NewPath("metadata", "annotations").Key(v1.MirrorPodAnnotationKey)
