package kubelet

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
)

// deletorCapacity is the number of dead containers that can wait for the deletor. The garbage collection removes the
// others (containerDeletorBufferLimit in pkg/kubelet/pod_container_deletor.go at v1.37.0).
const deletorCapacity = 50

// deletor removes dead containers that are no longer wanted as soon as a newer one is seen dead.
type deletor struct {
	k   *Kubelet
	ids *sim.Chan[string]
}

func newDeletor(k *Kubelet) *deletor {
	return &deletor{k: k, ids: sim.NewChan[string](k.sim, "containers to delete", deletorCapacity)}
}

func (d *deletor) run(p *sim.Proc) {
	for {
		d.k.removeContainer(p, d.ids.Recv(p))
	}
}

// cleanUpContainersInPod queues the dead containers of the name that this one has, save the newest; those of all names
// without exception once the pod is deleted and has come to its end.
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

// remove queues the dead containers of a name, or of all, but for the newest ones.
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
