package kubelet

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
)

// deletorCapacity is the number of dead containers that can wait for the deletor. The garbage
// collection removes the others (containerDeletorBufferLimit in
// pkg/kubelet/pod_container_deletor.go at v1.37.0).
const deletorCapacity = 50

// deletor removes dead containers as soon as a newer dead container of the same name is known
// (pkg/kubelet/pod_container_deletor.go at v1.37.0).
type deletor struct {
	k   *Kubelet
	ids *sim.Chan[string]
}

func newDeletor(k *Kubelet) *deletor {
	return &deletor{k: k, ids: sim.NewChan[string](k.sim, "containers to delete", deletorCapacity)}
}

func (d *deletor) run(p *sim.Proc) {
	p.Serve(sim.On(d.ids, d.k.removeContainer))
}

// cleanUpContainersInPod queues the dead containers with the same name as container id, except for
// the newest. Once the pod is deleted and has terminated, it queues all dead containers of the pod
// (cleanUpContainersInPod in pkg/kubelet/kubelet.go at v1.37.0).
func (d *deletor) cleanUpContainersInPod(uid types.UID, id string) {
	s, keep, name := d.k.cache.get(uid), containersToKeep, ""
	if d.k.workers.shouldContentBeRemoved(uid) {
		keep = 0
	} else if i := slices.IndexFunc(s.containers, func(c fakeruntime.Container) bool { return c.ID == id }); i >= 0 {
		name = s.containers[i].Name
	} else {
		return
	}
	d.remove(s, name, keep)
}

// remove queues the dead containers of a name, or of all names if it is empty, except for the
// newest ones (deleteContainersInPod in pkg/kubelet/pod_container_deletor.go at v1.37.0).
func (d *deletor) remove(s *podStatus, name string, keep int) {
	for _, c := range s.containers {
		if c.State != fakeruntime.Exited || name != "" && c.Name != name {
			continue
		}
		if keep--; keep < 0 {
			d.ids.TrySend(c.ID)
		}
	}
}
