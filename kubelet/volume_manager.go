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

// Disk is what a kubelet leaves on the disk of its node for the next one: the volumes that it has mounted, and which pods
// it has admitted.
type Disk struct {
	mounted  map[types.UID]time.Duration
	admitted map[types.UID]bool
	pulls    map[string]bool // images of which a pull was begun and has not ended
	pulled   map[string]bool // images that a kubelet has pulled
}

// NewDisk returns the disk of a node on which no kubelet has run.
func NewDisk() *Disk {
	return &Disk{mounted: map[types.UID]time.Duration{}, admitted: map[types.UID]bool{}, pulls: map[string]bool{}, pulled: map[string]bool{}}
}

// volumes are when the volumes of pods are mounted and unmounted. All volumes of a pod go together, and
// whatever their kind they take as long as an emptyDir and the delay of the scenario.
type volumes struct {
	k         *Kubelet
	start     time.Duration
	disk      *Disk
	mounted   map[types.UID]time.Duration
	unmounted map[types.UID]time.Duration
}

func newVolumes(k *Kubelet, d *Disk) *volumes {
	return &volumes{k: k, start: k.sim.Now(), disk: d, mounted: map[types.UID]time.Duration{}, unmounted: map[types.UID]time.Duration{}}
}

// nextLoop returns the next turn of the volume manager's loops that sees what happens now. One at this
// very instant may come after it.
func (v *volumes) nextLoop(pod *v1.Pod) time.Duration {
	now := v.k.sim.Now()
	past := (now - v.start) % volumeLoopPeriod
	if past == 0 && v.k.sim.Race("volumes seen in this turn: "+podName(pod), 2) == 1 {
		return now
	}
	return now + volumeLoopPeriod - past
}

// reconciledLater returns after how many turns of its own the reconciler sees what the populator has
// changed in one: their timers fire together, in any order.
func (v *volumes) reconciledLater(pod *v1.Pod) time.Duration {
	return time.Duration(1-v.k.sim.Race("reconciler after populator: "+podName(pod), 2)) * volumeLoopPeriod
}

// waitForAttachAndMount waits until the pod's volumes are mounted: the populator finds the pod, the reconciler attaches
// its volumes and mounts them a turn later, or at once if they are left from before the kubelet's start: then it has
// found them on the disk and takes them for attached (reconstructVolumes in pkg/kubelet/volumemanager/reconciler at
// v1.37.0). It reports false if the wait was cancelled.
func (v *volumes) waitForAttachAndMount(p *sim.Proc, w *podWorker, pod *v1.Pod) bool {
	if !mountsVolumes(pod) {
		return true
	}
	if _, ok := v.mounted[pod.UID]; !ok {
		begun := v.nextLoop(pod) + v.reconciledLater(pod)
		if !v.isReconstructed(pod) {
			begun += volumeLoopPeriod
		}
		v.mounted[pod.UID] = begun + v.k.runtime.PodDelay(fakeruntime.DelayVolumeMount, pod)
		if _, ok := v.disk.mounted[pod.UID]; !ok {
			v.disk.mounted[pod.UID] = v.mounted[pod.UID]
		}
	}
	for v.isBefore(p, v.mounted[pod.UID], pod) {
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

// isBefore reports whether something that happens at t has not happened yet; at t it may have or not.
func (v *volumes) isBefore(p *sim.Proc, t time.Duration, pod *v1.Pod) bool {
	return p.Now() < t || p.Now() == t && v.k.sim.Race("volumes polled first: "+podName(pod), 2) == 0
}

// isReconstructed reports whether a kubelet before this one has mounted the volumes of a pod.
func (v *volumes) isReconstructed(pod *v1.Pod) bool {
	before, ok := v.disk.mounted[pod.UID]
	return ok && before <= v.start
}

// mountsVolumes reports whether a container of the pod mounts a volume; what no container mounts is not
// waited for (getExpectedVolumes in volume_manager.go at v1.37.0).
func mountsVolumes(pod *v1.Pod) bool {
	mounts := func(c v1.Container) bool { return len(c.VolumeMounts)+len(c.VolumeDevices) > 0 }
	return slices.ContainsFunc(pod.Spec.Containers, mounts) || slices.ContainsFunc(pod.Spec.InitContainers, mounts)
}

// stopMounting ends a worker's wait for volumes.
func (w *podWorker) stopMounting() {
	if p := w.mounting; p != nil {
		w.mounting = nil
		p.Interrupt()
	}
}

// unmount has the volumes of a pod without running containers unmounted: the populator finds that out, and
// the reconciler unmounts them, also those that a kubelet before this one has mounted.
func (v *volumes) unmount(pod *v1.Pod) {
	if _, known := v.mounted[pod.UID]; known || v.isReconstructed(pod) {
		v.unmounted[pod.UID] = v.nextLoop(pod) + v.reconciledLater(pod)
	}
}

// waitForUnmount waits until that is done.
func (v *volumes) waitForUnmount(p *sim.Proc, pod *v1.Pod) {
	for t, ok := v.unmounted[pod.UID]; ok && v.isBefore(p, t, pod); t, ok = v.unmounted[pod.UID] {
		p.Sleep(volumePollPeriod)
	}
}

// forget is called when the volumes of a pod have been unmounted and nobody will ask for them.
func (v *volumes) forget(pod *v1.Pod) {
	delete(v.mounted, pod.UID)
	delete(v.disk.mounted, pod.UID)
	delete(v.unmounted, pod.UID)
}
