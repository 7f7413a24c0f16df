package probetest

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// AddPod has the API server hand a pod to the kubelet now. The pod is not changed: it gets the defaults of the API in a
// copy, and one that the API server would not create fails the test, as does a behavior that does not fit the pod. A pod
// of the same name may come again once the first is gone.
func (n *Node) AddPod(pod *v1.Pod, behavior ...Behavior) *Pod {
	if pod == nil {
		fail(0, "there is no pod: it is nil")
		return nil
	}
	added := n.add(pod, behavior)
	if added == nil {
		return nil
	}
	return added[0]
}

// AddWorkload adds the pods of a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job or CronJob, as many as it has
// replicas, 100 ms apart. They are named NAME-0, NAME-1, and so on. No controller is simulated: nothing replaces a pod.
func (n *Node) AddWorkload(w Workload, behavior ...Behavior) []*Pod { return n.add(w, behavior) }

func (n *Node) add(w Workload, behavior []Behavior) []*Pod {
	merged := Behavior{}
	for _, b := range behavior {
		maps.Copy(merged, b)
	}
	planned, err := n.compile(w, merged)
	if err != nil {
		fail(1, "%s", err)
		return nil
	}
	var added []*Pod
	for i := range planned {
		p := &planned[i]
		key := p.Pod.Namespace + "/" + p.Pod.Name
		if last := n.pods[key]; last != nil && !last.gone() {
			fail(1, "there is a pod %s on the node", last)
			return nil
		}
		added = append(added, n.addPlanned(key, p))
	}
	return added
}

// addPlanned adds a pod. As the API server does, it gives each a UID of its own, also the second of a name.
func (n *Node) addPlanned(key string, p *scenarios.PlannedPod) *Pod {
	if again := n.added[key]; again > 0 {
		p.Pod.UID += types.UID(fmt.Sprintf("-%d", again))
		p.Program.UID = string(p.Pod.UID)
	}
	n.added[key]++
	pod := &Pod{Object: p.Pod, node: n, log: n.log, key: key, from: len(n.log.records)}
	n.pods[key] = pod
	n.sim.At(n.Now()+p.At, func() { n.sim.AddPod(p.Pod, p.Program) })
	return pod
}

// gone reports whether the API server has the pod no more.
func (p *Pod) gone() bool {
	return slices.ContainsFunc(p.indexes(), func(i int) bool { return p.log.records[i].Kind == trace.PodRemoved })
}
