package scenarios

import (
	"cmp"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	"probesim.dev/apiserver/admission"
	"probesim.dev/internal/strict"
	"probesim.dev/kube/podutil"
)

// kubeletConditions are the conditions that the kubelet sets. A patch must not change them: the simulator does
// not model the effect.
var kubeletConditions = []v1.PodConditionType{
	v1.PodScheduled, v1.PodReady, v1.PodInitialized, v1.ContainersReady, v1.PodReadyToStartContainers,
	v1.DisruptionTarget, v1.PodResizePending, v1.PodResizeInProgress, podutil.AllContainersRestarting,
}

// check applies the patch to the pods in their initial state. It does not consider what other patches change
// before.
func (p *PatchPod) check(c *checker, n *strict.Node) {
	p.text = n.Text()
	c.checkTarget(p.Pod, n)
	switch {
	case n.Bad():
	case p.Metadata == nil && p.Spec == nil && p.Status == nil:
		n.Errorf("changes nothing: write metadata, spec or status")
	case p.Status != nil && (p.Metadata != nil || p.Spec != nil):
		n.Errorf("patches the status and more: the API updates the status separately, so write a step for each")
	case p.Status != nil:
		p.checkStatus(n)
		return
	}
	for _, w := range c.scenario.matching(p.Pod) {
		if !n.Bad() && c.withinValueLimit(w.manifest, n) && c.withinMergeLimit(w.manifest, n) {
			p.checkPod(c, w, n)
		}
	}
}

func (p *PatchPod) checkPod(c *checker, w *workload, n *strict.Node) {
	patched, err := admission.Merge(w.pod, p.json())
	if err != nil {
		n.Errorf("cannot be applied: %s", err)
		return
	}
	if len(patched.Spec.EphemeralContainers) > 0 {
		n.Find("spec.ephemeralContainers").Errorf("a patch cannot add ephemeral containers: write a debug step")
		return
	}
	if resizes(patched, w.pod) {
		n.Field("spec").Errorf("a patch cannot change the resources of containers: write a resize step")
		return
	}
	admission.Default(patched)
	said := map[string]bool{}
	for _, version := range c.profiles() {
		for _, e := range admission.ValidateUpdate(version, patched, w.pod) {
			at := n
			if written, _ := findInPod(n, patched, e.Field); written.Written() {
				at = written
			}
			if !said[e.Field] {
				at.Errorf("%s", e.ErrorBody())
			}
			said[e.Field] = true
		}
	}
	p.checkProbes(w, patched, n)
	for _, c := range slices.Concat(patched.Spec.InitContainers, patched.Spec.Containers) {
		if c.Image != "" && !admission.IsImage(c.Image) {
			n.Errorf("the image %s is not supported yet: its name is not a valid reference", strict.Quote(c.Image))
		}
	}
	isNew := func(f string) bool { return !slices.Contains(w.pod.Finalizers, f) }
	if slices.ContainsFunc(patched.Finalizers, isNew) {
		n.Find("metadata.finalizers").Errorf("a new finalizer is not supported yet: a patch can only remove finalizers")
	}
}

// checkProbes reports probes for which the programs of the scenario are not made: rules answer one kind of handler, and endpoints are
// those of the first handler.
func (p *PatchPod) checkProbes(w *workload, patched *v1.Pod, n *strict.Node) {
	for c := range podutil.Containers(&patched.Spec) {
		asked := w.asked[c.Name]
		if asked == nil {
			continue
		}
		for _, probe := range probesOf(c) {
			first := probeNamed(asked, probe.key)
			switch {
			case handlerOf(probe.probe) != handlerOf(first):
				n.Field("spec").Errorf("a step cannot change the kind of handler of the %s of %s yet", probe.field, c.Name)
			case w.answersEndpoints(c.Name) && !apiequality.Semantic.DeepEqual(probe.probe.ProbeHandler, first.ProbeHandler):
				n.Field("spec").Errorf("a step cannot change where the %s of %s asks yet, because its behavior has endpoints", probe.field, c.Name)
			}
		}
	}
}

// askedContainers returns the containers of the pod with the probes that patch steps add to them.
func (c *checker) askedContainers(w *workload) map[string]*v1.Container {
	asked := map[string]*v1.Container{}
	for _, container := range w.allContainers() {
		asked[container.Name] = container
	}
	for i, s := range c.scenario.Spec.Steps {
		if s == nil || s.Patch == nil || !s.Patch.changesProbes() {
			continue
		}
		n := c.spec.Field("steps").Index(i).Field("patch")
		if n.Bad() || !w.isAny(s.Patch.Pod) || !c.withinValueLimit(w.manifest, n) || !c.withinMergeLimit(w.manifest, n) {
			continue
		}
		patched, err := admission.Merge(w.pod, s.Patch.json())
		if err != nil {
			continue // reported elsewhere
		}
		admission.Default(patched)
		for after := range podutil.Containers(&patched.Spec) {
			if before := asked[after.Name]; before != nil {
				asked[after.Name] = withProbes(before, after)
			}
		}
	}
	return asked
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
	return slices.ContainsFunc(namesOf(name), func(name string) bool { _, count := w.named(name); return count > 0 })
}

// resizes reports whether resources or resize policies of containers differ. Resources change through the subresource pods/resize,
// and resize policies never.
func resizes(pod, old *v1.Pod) bool {
	for c := range podutil.Containers(&pod.Spec) {
		before := podutil.Find(old, c.Name)
		if before != nil && !apiequality.Semantic.DeepEqual([]any{c.Resources, c.ResizePolicy}, []any{before.Resources, before.ResizePolicy}) {
			return true
		}
	}
	return false
}

// checkStatus applies the patch to a status with all conditions of the kubelet. The patch may change other
// conditions and nothing else (ValidatePodStatusUpdate in pkg/apis/core/validation/validation.go at v1.37.0).
func (p *PatchPod) checkStatus(n *strict.Node) {
	pod := &v1.Pod{}
	for _, t := range kubeletConditions {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: t, Status: v1.ConditionUnknown})
	}
	patched, err := admission.Merge(pod, p.json())
	if err != nil {
		n.Errorf("cannot be applied: %s", err)
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
	rest.Conditions = slices.DeleteFunc(rest.Conditions, func(c v1.PodCondition) bool { return slices.Contains(others, c) })
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
		n.Field("status").Errorf("%s is not a condition status: write \"True\", \"False\" or \"Unknown\"", strict.Quote(string(c.Status)))
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
