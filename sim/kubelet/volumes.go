package kubelet

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
)

// Periods of the volume manager (pkg/kubelet/volumemanager/volume_manager.go at v1.37.0).
const (
	volumeLoopPeriod = 100 * time.Millisecond // of the populator and the reconciler, from the kubelet's start
	volumePollPeriod = 300 * time.Millisecond // of whoever waits for volumes
)

// volumes are when the volumes of pods are mounted and unmounted. All volumes of a pod go together, and
// whatever their kind they take as long as an emptyDir and the delay of the scenario.
type volumes struct {
	k         *Kubelet
	start     time.Duration
	mounted   map[types.UID]time.Duration
	unmounted map[types.UID]time.Duration
}

func newVolumes(k *Kubelet) *volumes {
	return &volumes{k: k, start: k.sim.Now(), mounted: map[types.UID]time.Duration{}, unmounted: map[types.UID]time.Duration{}}
}

// nextLoop returns the next turn of the volume manager's loops after now.
func (v *volumes) nextLoop() time.Duration {
	now := v.k.sim.Now()
	return now + volumeLoopPeriod - (now-v.start)%volumeLoopPeriod
}

// waitForMount waits until the pod's volumes are mounted: one turn of the loops finds the pod, the next
// attaches, the next mounts. It reports false if the wait was cancelled.
func (v *volumes) waitForMount(p *sim.Proc, w *podWorker, pod *v1.Pod) bool {
	if !mountsVolumes(pod) {
		return true
	}
	if _, ok := v.mounted[pod.UID]; !ok {
		v.mounted[pod.UID] = v.nextLoop() + 2*volumeLoopPeriod + v.k.runtime.PodDelay(fakeruntime.DelayVolumeMount, pod)
	}
	for p.Now() < v.mounted[pod.UID] {
		w.mounting = p
		p.WakeAt(p.Now() + volumePollPeriod)
		p.Park()
		if w.mounting == nil {
			return false
		}
		w.mounting = nil
	}
	return true
}

// mountsVolumes reports whether a container of the pod mounts a volume; what no container mounts is not
// waited for (getExpectedVolumes in volume_manager.go at v1.37.0).
func mountsVolumes(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return len(c.VolumeMounts)+len(c.VolumeDevices) > 0 })
}

// cancel ends a worker's wait for volumes.
func (w *podWorker) cancel() {
	if p := w.mounting; p != nil {
		w.mounting = nil
		p.Interrupt()
	}
}

// unmount has the volumes of a pod without running containers unmounted: one turn finds that out, the
// next unmounts.
func (v *volumes) unmount(pod *v1.Pod) {
	if _, ok := v.mounted[pod.UID]; ok {
		v.unmounted[pod.UID] = v.nextLoop() + volumeLoopPeriod
	}
}

// waitForUnmount waits until that is done.
func (v *volumes) waitForUnmount(p *sim.Proc, pod *v1.Pod) {
	for p.Now() < v.unmounted[pod.UID] {
		p.Sleep(volumePollPeriod)
	}
	delete(v.mounted, pod.UID)
	delete(v.unmounted, pod.UID)
}
