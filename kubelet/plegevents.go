package kubelet

import (
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
)

// changes returns the events that lead from one listing of a pod to the next: for the containers and
// then the sandboxes of the old, then those that are new.
func changes(uid types.UID, old, current *runtimePod) []plegEvent {
	var events []plegEvent
	seen := map[string]bool{}
	for _, pod := range []*runtimePod{old, current} {
		for _, id := range pod.ids() {
			if !seen[id] {
				seen[id] = true
				events = appendChange(events, uid, id, old.state(id), current.state(id))
			}
		}
	}
	return events
}

func appendChange(events []plegEvent, uid types.UID, id string, from, to plegState) []plegEvent {
	switch {
	case from == to:
	case to == plegRunning:
		events = append(events, plegEvent{uid, containerStarted, id})
	case to == plegExited:
		events = append(events, plegEvent{uid, containerDied, id})
	case to == plegUnknown:
		events = append(events, plegEvent{uid, containerChanged, id})
	default:
		if from != plegExited {
			events = append(events, plegEvent{uid, containerDied, id})
		}
		events = append(events, plegEvent{uid, containerRemoved, id})
	}
	return events
}

func (r *runtimePod) ids() []string {
	if r == nil {
		return nil
	}
	var ids []string
	for i := range r.containers {
		ids = append(ids, r.containers[i].ID)
	}
	for i := range r.sandboxes {
		ids = append(ids, r.sandboxes[i].ID)
	}
	return ids
}

func (r *runtimePod) state(id string) plegState {
	if r == nil {
		return plegNonExistent
	}
	for i := range r.containers {
		if r.containers[i].ID == id {
			return plegStateOf[r.containers[i].State]
		}
	}
	for i := range r.sandboxes {
		if r.sandboxes[i].ID == id {
			if r.sandboxes[i].Ready {
				return plegRunning
			}
			return plegExited
		}
	}
	return plegNonExistent
}

var plegStateOf = map[fakeruntime.ContainerState]plegState{
	fakeruntime.Created: plegUnknown, fakeruntime.Running: plegRunning, fakeruntime.Exited: plegExited,
}
