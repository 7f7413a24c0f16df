package scenarios

import (
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
			p.checkPod(w, n)
		}
	}
}

func (p *PatchPod) checkPod(w *workload, n *strict.Node) {
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
	for _, e := range admission.ValidateUpdate(patched, w.pod) {
		at := n
		if written, _ := findInPod(n, patched, e.Field); written.Written() {
			at = written
		}
		at.Errorf("%s", e.ErrorBody())
	}
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
