package probetest

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios/plan"
	"probesim.dev/trace"
)

// AddPod creates a pod through the API at the current virtual time. The API server sets defaults in
// a copy, so the argument stays unchanged.
//
// The optional behaviors say what the programs in the containers do. If several behaviors have the
// same container, the last one applies. The test fails if the API server would reject the pod, if a
// behavior does not fit the pod, or if the node still has a pod of the same name.
func (n *Node) AddPod(pod *v1.Pod, behavior ...Behavior) *Pod {
	n.tb().Helper()
	if pod == nil {
		n.t.Fatalf("AddPod: the pod is nil")
		return nil
	}
	added := n.add(pod, behavior)
	if added == nil {
		return nil
	}
	return added[0]
}

// AddWorkload adds the pods of a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job or CronJob,
// one for each replica, 100 ms apart. Their names are NAME-0, NAME-1, and so on. As with AddPod,
// errors fail the test, and no controller acts on them: nothing replaces a pod that is deleted. For
// a Deployment that is rolled out, see AddDeployment.
func (n *Node) AddWorkload(w Workload, behavior ...Behavior) []*Pod {
	n.tb().Helper()
	return n.add(w, behavior)
}

func (n *Node) add(w Workload, behavior []Behavior) []*Pod {
	n.t.Helper()
	if !n.usable() {
		return nil
	}
	planned, err := n.compile(w, merged(nil, behavior))
	if err != nil {
		n.t.Fatalf("%s", err)
		return nil
	}
	var added []*Pod
	for i := range planned {
		p := &planned[i]
		key := p.Pod.Namespace + "/" + p.Pod.Name
		if last := n.pods[key]; last != nil && !last.gone() {
			n.t.Fatalf("the node already has a pod %s: delete it and call Advance first, or use another name", last)
			return nil
		}
		added = append(added, n.addPlanned(key, p))
	}
	return added
}

// addPlanned adds a pod. Like the API server, it gives each pod a new UID, even if an earlier pod
// had the same name.
func (n *Node) addPlanned(key string, p *plan.PlannedPod) *Pod {
	if again := n.added[key]; again > 0 {
		p.Pod.UID += types.UID(fmt.Sprintf("-%d", again))
		p.Program.UID = string(p.Pod.UID)
	}
	n.added[key]++
	dropped := admission.DropDisabled(n.profile, p.Pod.Spec.DeepCopy())
	for _, note := range admission.Notes(n.profile, "pod "+trace.PodName(key), "", dropped) {
		n.log.note(note)
	}
	pod := &Pod{Object: p.Pod, node: n, log: n.log, key: key, from: len(n.log.records)}
	n.pods[key] = pod
	n.sim.At(p.At.Add(n.Now()), func() {
		if err := n.sim.AddPod(p.Pod, p.Program); err != nil {
			n.fail("the pod %s cannot be added: %s", pod, err)
		}
	})
	return pod
}

// gone reports whether the API server has removed the pod.
func (p *Pod) gone() bool {
	return slices.ContainsFunc(p.indexes(), func(i int) bool { return p.log.records[i].Kind == trace.PodRemoved })
}
