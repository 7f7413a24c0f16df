package scenarios

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"probesim.dev/apiserver"
	"probesim.dev/internal/strict"
	"probesim.dev/kube/podutil"
)

// kubeletConditions are those that a patch may not change: what the kubelet makes of it is not simulated.
var kubeletConditions = []v1.PodConditionType{
	v1.PodScheduled, v1.PodReady, v1.PodInitialized, v1.ContainersReady, v1.PodReadyToStartContainers,
	v1.DisruptionTarget, v1.PodResizePending, v1.PodResizeInProgress, podutil.AllContainersRestarting,
}

// checkStatus applies the patch to a status with all conditions of the kubelet. It may change the conditions of others
// and nothing else (ValidatePodStatusUpdate in pkg/apis/core/validation/validation.go at v1.37.0).
func (p *PatchPod) checkStatus(n *strict.Node) {
	pod := &v1.Pod{}
	for _, t := range kubeletConditions {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: t, Status: v1.ConditionUnknown})
	}
	patched, err := apiserver.Merge(pod, p.json())
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
		n.Field("status").Errorf("a patch of anything but conditions that the kubelet does not set is not supported yet")
	}
}

// checkCondition refuses what the API server does, and a status that no reader knows.
func checkCondition(c v1.PodCondition, n *strict.Node) {
	for _, why := range validation.IsQualifiedName(string(c.Type)) {
		n.Field("type").Errorf("%s", why)
	}
	if c.Status != v1.ConditionTrue && c.Status != v1.ConditionFalse && c.Status != v1.ConditionUnknown {
		n.Field("status").Errorf("%s is not a status of a condition: write \"True\", \"False\" or \"Unknown\"", strict.Quote(string(c.Status)))
	}
}

// conditionNode returns the condition of that type as it is written in a list.
func conditionNode(list *strict.Node, t v1.PodConditionType) *strict.Node {
	for i, item := range list.Items {
		if item.Field("type").Value == string(t) {
			return list.Index(i)
		}
	}
	return list
}
