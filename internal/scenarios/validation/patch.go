package validation

import (
	"cmp"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
)

// kubeletConditions are the conditions that the kubelet sets. A patch must not change them: the
// simulator does not model the effect.
var kubeletConditions = []v1.PodConditionType{
	v1.PodScheduled, v1.PodReady, v1.PodInitialized, v1.ContainersReady, v1.PodReadyToStartContainers,
	v1.DisruptionTarget, v1.PodResizePending, v1.PodResizeInProgress, podutil.AllContainersRestarting,
}

// checkPatchPod applies the patch to the pods in their initial state. Of what other patches change
// before, it considers only probes.
func (c *checker) checkPatchPod(p *format.PatchPod, n *strict.Node) {
	switch {
	case n.Bad():
	case p.Metadata == nil && p.Spec == nil && p.Status == nil:
		n.Errorf("changes nothing: write metadata, spec or status")
	case p.Status != nil && (p.Metadata != nil || p.Spec != nil):
		n.Errorf("patches the status and more: the API updates the status separately, so write a step for each")
	case p.Status != nil:
		checkStatus(p, n)
		return
	}
	for _, w := range c.matching(p.Pod) {
		if !n.Bad() && c.withinLimits(w, n) {
			c.checkPatched(p, w, n)
		}
	}
}

func (c *checker) checkPatched(p *format.PatchPod, w *workload, n *strict.Node) {
	before := cmp.Or(w.before[p], w.Pod)
	patched := merge(before, p.JSON(), n)
	if patched == nil {
		return
	}
	if len(patched.Spec.EphemeralContainers) > 0 {
		n.Find("spec.ephemeralContainers").Errorf("a patch cannot add ephemeral containers: write a debug step")
		return
	}
	if resizes(patched, before) {
		n.Field("spec").Errorf("a patch cannot change the resources of containers: write a resize step")
		return
	}
	if w.Spec.Static && p.ChangesProbes() {
		n.Field("spec").Errorf("a patch cannot change the probes of a static pod: write a setManifest step")
		return
	}
	admission.Default(patched)
	if c.rejects(p, patched, before, n) {
		return
	}
	for c := range podutil.Containers(&patched.Spec) {
		if c.Image != "" && !admission.IsImage(c.Image) {
			n.Errorf("the image %s is not supported yet: its name is not a valid reference", strict.Quote(c.Image))
		}
	}
	if p.ChangesProbes() {
		w.checkProbes(patched, n)
	}
	isNew := func(f string) bool { return !slices.Contains(w.Pod.Finalizers, f) }
	if slices.ContainsFunc(patched.Finalizers, isNew) {
		n.Find("metadata.finalizers").Errorf("a new finalizer is not supported yet: a patch can only remove finalizers")
	}
}

// rejects reports what the API server rejects in the versions of the scenario, and whether there is
// something.
func (c *checker) rejects(p *format.PatchPod, patched, before *v1.Pod, n *strict.Node) bool {
	said := map[string]bool{}
	for _, version := range c.profiles() {
		errs := admission.ValidateUpdate(version, patched, before)
		if p.ChangesProbes() {
			errs = append(errs, admission.ValidateGated(version, patched)...)
		}
		for _, e := range errs {
			switch written, _ := manifests.FindInPod(n, patched, e.Field); {
			case said[e.Field]:
			case written.Written():
				written.Errorf("%s", e.ErrorBody())
			case p.ChangesProbes():
				n.Errorf("%s: %s", e.Field, e.ErrorBody())
			default:
				n.Errorf("%s", e.ErrorBody())
			}
			said[e.Field] = true
		}
	}
	return len(said) > 0
}

// checkProbes reports probes that are not supported, and probes for which the programs of the
// scenario are not made: rules answer one kind of handler, and endpoints are those of the first
// handler.
func (w *workload) checkProbes(patched *v1.Pod, n *strict.Node) {
	refuse := func(field, what string) { n.Errorf("%s is not supported yet (%s)", what, field) }
	for path, container := range manifests.Containers(patched) {
		for _, probe := range podutil.Probes(container) {
			checkHTTPGetSupported(probe.HTTPGet, path+"."+probe.Field, refuse)
		}
		if first := w.withAdded[container.Name]; first != nil {
			w.checkHandlers(container, first, n)
		}
	}
}

// checkHandlers reports handlers of probes that differ from the first ones.
func (w *workload) checkHandlers(c, first *v1.Container, n *strict.Node) {
	for _, probe := range podutil.Probes(c) {
		was := podutil.ProbeOf(first, probe.Key)
		switch {
		case program.HandlerOf(&probe.ProbeHandler) != program.HandlerOf(&was.ProbeHandler):
			n.Field("spec").Errorf("a step cannot change the kind of handler of the %s of %s yet", probe.Field, c.Name)
		case w.answersEndpoints(c.Name) && !apiequality.Semantic.DeepEqual(probe.ProbeHandler, was.ProbeHandler):
			n.Field("spec").Errorf("a step cannot change the endpoint of the %s of %s yet, because its behavior has "+
				"endpoints", probe.Field, c.Name)
		}
	}
}

// addProbes notes the probes that patches add to the containers of a workload, and the pod before
// each patch. It takes the patches in the order in which they are written.
func (c *checker) addProbes(w *workload) {
	w.withAdded, w.before = map[string]*v1.Container{}, map[*format.PatchPod]*v1.Pod{}
	for container := range podutil.Containers(&w.Pod.Spec) {
		w.withAdded[container.Name] = container
	}
	pod := w.Pod
	for i, s := range c.scenario.Spec.Steps {
		if s == nil || s.Patch == nil || !s.Patch.ChangesProbes() || !w.isAny(s.Patch.Pod) {
			continue
		}
		n := c.spec.Field("steps").Index(i).Field("patch")
		if n.Bad() || !c.withinLimits(w, n) {
			continue
		}
		w.before[s.Patch] = pod
		patched, err := admission.Merge(pod, s.Patch.JSON())
		if err != nil {
			continue // reported elsewhere
		}
		admission.Default(patched)
		next, valid := w.Pod.DeepCopy(), len(admission.ValidateUpdate(mutableProbes, patched, pod)) == 0
		for after := range podutil.Containers(&patched.Spec) {
			if container := podutil.Find(next, after.Name); container != nil {
				first := withProbes(w.withAdded[after.Name], after)
				w.withAdded[after.Name], valid = first, valid && sameHandlers(after, first)
				container.LivenessProbe, container.ReadinessProbe, container.StartupProbe = after.LivenessProbe,
					after.ReadinessProbe, after.StartupProbe
			}
		}
		if valid { // otherwise its errors are reported once
			pod = next
		}
	}
}

// mutableProbes is a version in which patches can change probes.
var mutableProbes = func() profile.Profile {
	p := profile.V1_38_preview
	p.MutableContainerProbes = true
	return p
}()

// sameHandlers reports whether the probes of a container have the kinds of handlers of the first
// ones.
func sameHandlers(c, first *v1.Container) bool {
	return !slices.ContainsFunc(podutil.Probes(c), func(p podutil.Probe) bool {
		return program.HandlerOf(&p.ProbeHandler) != program.HandlerOf(&podutil.ProbeOf(first, p.Key).ProbeHandler)
	})
}

// withProbes returns a container with the probes that only another version of the container has.
func withProbes(c, other *v1.Container) *v1.Container {
	with := *c
	with.LivenessProbe = cmp.Or(c.LivenessProbe, other.LivenessProbe)
	with.ReadinessProbe = cmp.Or(c.ReadinessProbe, other.ReadinessProbe)
	with.StartupProbe = cmp.Or(c.StartupProbe, other.StartupProbe)
	return &with
}

// isAny reports whether a name, which can be a range, matches a pod of the workload.
func (w *workload) isAny(name string) bool {
	return slices.ContainsFunc(format.NamesOf(name),
		func(name string) bool { _, count := w.Named(name); return count > 0 })
}

// resizes reports whether resources or resize policies of containers differ. Resources change
// through the subresource pods/resize, and resize policies never.
func resizes(pod, old *v1.Pod) bool {
	for c := range podutil.Containers(&pod.Spec) {
		before := podutil.Find(old, c.Name)
		if before != nil && !apiequality.Semantic.DeepEqual([]any{c.Resources, c.ResizePolicy},
			[]any{before.Resources, before.ResizePolicy}) {
			return true
		}
	}
	return false
}

// checkStatus applies the patch to a status with all conditions of the kubelet. The patch may
// change other conditions and nothing else (ValidatePodStatusUpdate in
// pkg/apis/core/validation/validation.go at v1.37.0).
func checkStatus(p *format.PatchPod, n *strict.Node) {
	pod := &v1.Pod{}
	for _, t := range kubeletConditions {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: t, Status: v1.ConditionUnknown})
	}
	patched := merge(pod, p.JSON(), n)
	if patched == nil {
		return
	}
	conditions := n.Find("status.conditions")
	var others []v1.PodCondition
	for i, c := range patched.Status.Conditions {
		if !slices.Contains(kubeletConditions, c.Type) {
			checkCondition(c, conditionNode(conditions, c.Type))
			others = append(others, patched.Status.Conditions[i])
		}
	}
	rest := patched.Status.DeepCopy()
	rest.Conditions = slices.DeleteFunc(rest.Conditions,
		func(c v1.PodCondition) bool { return slices.Contains(others, c) })
	byType := func(a, b v1.PodCondition) int {
		return slices.Index(kubeletConditions, a.Type) - slices.Index(kubeletConditions, b.Type)
	}
	slices.SortFunc(rest.Conditions, byType)
	if !reflect.DeepEqual(rest, &pod.Status) {
		n.Field("status").Errorf("is supported only for conditions that the kubelet does not set")
	}
}

// checkCondition reports conditions that the API server rejects, and unknown condition statuses.
func checkCondition(c v1.PodCondition, n *strict.Node) {
	for _, why := range validation.IsQualifiedName(string(c.Type)) {
		n.Field("type").Errorf("%s", why)
	}
	if c.Status != v1.ConditionTrue && c.Status != v1.ConditionFalse && c.Status != v1.ConditionUnknown {
		n.Field("status").Errorf("%s is not a condition status: write \"True\", \"False\" or \"Unknown\"",
			strict.Quote(string(c.Status)))
	}
}

// conditionNode returns the node of the condition of this type in a list.
func conditionNode(list *strict.Node, t v1.PodConditionType) *strict.Node {
	for i, item := range list.Items {
		if item.Field("type").Value == string(t) {
			return list.Index(i)
		}
	}
	return list
}
