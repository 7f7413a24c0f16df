package ginkgokit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/scenarios/podspec"
)

// AddPod has the API server hand a pod to the kubelet now. The pod is not changed: it gets the defaults of the API in a
// copy, and one that the API server would not create fails the test, as does a behavior that does not fit the pod. A pod
// of the same name may come again once the first is gone.
func (n *Node) AddPod(pod *v1.Pod, behavior ...Behavior) *Pod {
	if pod == nil {
		fail(0, "there is no pod: it is nil")
		return nil
	}
	merged := Behavior{}
	for _, b := range behavior {
		maps.Copy(merged, b)
	}
	key := cmp.Or(pod.Namespace, v1.NamespaceDefault) + "/" + pod.Name
	if last := n.pods[key]; last != nil && !last.gone() {
		fail(0, "there is a pod %s on the node", last)
	}
	pod = pod.DeepCopy()
	if again := n.added[key]; again > 0 { // as the API server, which gives each its own
		pod.UID = podspec.UID(cmp.Or(pod.Namespace, v1.NamespaceDefault), pod.Name) + types.UID(fmt.Sprintf("-%d", again))
	}
	planned, err := plan(pod, merged, n.options)
	if err != nil {
		fail(0, "the pod %s cannot be added:\n%s", pod.Name, err)
		return nil
	}
	n.added[key]++
	p := &Pod{Object: planned.Pod, node: n, log: n.log, key: planned.Pod.Namespace + "/" + planned.Pod.Name, from: len(n.log.records)}
	n.pods[p.key] = p
	n.sim.At(n.Now(), func() { n.sim.AddPod(planned.Pod, planned.Program) })
	return p
}

// names returns the containers that a behavior is about, sorted.
func (b Behavior) names() []string { return slices.Sorted(maps.Keys(b)) }
