package validation

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios/format"
)

// checkStatic reports a static pod that is not a Pod, and fields that the kubelet rejects in its
// manifest.
func (c *checker) checkStatic(w *workload, n *strict.Node) {
	if !w.Spec.Static {
		return
	}
	if w.Manifest.Kind.Template != "" {
		n.Field("static").Errorf("needs a Pod, and %s is a %s", w.Manifest.Name, w.Manifest.Kind.Kind)
		return
	}
	for _, e := range admission.ValidateStatic(w.Pod) {
		w.errs.At(w.Pod, e.Field).Errorf("%s", e.Detail)
	}
	uid := w.errs.At(w.Pod, "metadata.uid")
	uid.ErrorIf(uid.Written(), "a static pod with its own UID is not supported yet: the kubelet derives the UID from "+
		"the manifest")
}

// checkManifests reports target pods that are not static.
func (c *checker) checkManifests(pod string, n *strict.Node) {
	for _, w := range c.matching(pod) {
		n.ErrorIf(!w.Spec.Static && !n.Bad(), "needs a static pod, and %s has no static: true in spec.pods",
			w.Manifest.Name)
	}
}

// checkSetManifest applies the patch to the manifests in their initial state. It does not consider
// what other steps change before.
func (c *checker) checkSetManifest(s *format.SetManifest, n *strict.Node) {
	c.checkManifests(s.Pod, n)
	for _, w := range c.matching(s.Pod) {
		if !n.Bad() && c.withinLimits(w, n) {
			w.checkManifest(s, n)
		}
	}
}

func (w *workload) checkManifest(s *format.SetManifest, n *strict.Node) {
	patched := merge(w.Pod, s.JSON(), n)
	if patched == nil {
		return
	}
	for _, name := range []string{"name", "namespace", "uid"} {
		if f := n.Field("metadata").Field(name); f.Written() {
			f.Errorf("a step cannot change the %s of a static pod", name)
			return
		}
	}
	admission.Default(patched)
	report(n, patched, slices.Concat(admission.Validate(patched), admission.ValidateStatic(patched),
		admission.ValidateSupported(patched)))
	w.checkContainers(patched, n)
}

// checkContainers reports changes for which the programs of the scenario are not made.
func (w *workload) checkContainers(patched *v1.Pod, n *strict.Node) {
	same := func(a, b []v1.Container) bool {
		return slices.EqualFunc(a, b, func(a, b v1.Container) bool { return a.Name == b.Name })
	}
	if !same(patched.Spec.InitContainers, w.Pod.Spec.InitContainers) ||
		!same(patched.Spec.Containers, w.Pod.Spec.Containers) {
		n.Field("spec").Errorf("a step cannot add or remove containers of a static pod yet")
		return
	}
	for container := range podutil.Containers(&patched.Spec) {
		if w.answersEndpoints(container.Name) && !sameEndpoints(container, podutil.Find(w.Pod, container.Name)) {
			n.Field("spec").Errorf("a step cannot change a probe or hook of %s yet, because its behavior has endpoints",
				container.Name)
		}
	}
}

// report reports errors of the API server about a patched pod where the patch has their fields, or
// else at the patch. It returns false if there are none.
func report(patch *strict.Node, pod *v1.Pod, errs field.ErrorList) bool {
	for _, e := range errs {
		if written, _ := manifests.FindInPod(patch, pod, e.Field); written.Written() {
			written.Errorf("%s", e.ErrorBody())
		} else {
			patch.Errorf("%s: %s", e.Field, e.ErrorBody())
		}
	}
	return len(errs) > 0
}

// answersEndpoints reports whether a rule of a container has answers by endpoint.
func (w *workload) answersEndpoints(container string) bool {
	c := w.Spec.Container(container)
	return c != nil && slices.ContainsFunc(c.Behavior, func(r format.Rule) bool { return len(r.Endpoints) > 0 })
}

// sameEndpoints reports whether the probes and hooks of two versions of a container ask at the same
// endpoints.
func sameEndpoints(a, b *v1.Container) bool {
	handlers := func(c *v1.Container) []any {
		list := []any{c.Lifecycle, c.Ports}
		for _, p := range podutil.Probes(c) {
			list = append(list, p.Key, p.ProbeHandler)
		}
		return list
	}
	return reflect.DeepEqual(handlers(a), handlers(b))
}
