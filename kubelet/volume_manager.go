package kubelet

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Periods of the volume manager (pkg/kubelet/volumemanager/volume_manager.go at v1.37.0).
const (
	volumeLoopPeriod = 100 * time.Millisecond // of the populator and the reconciler, from the start of the kubelet
	volumePollPeriod = 300 * time.Millisecond // of a process that waits for volumes
	// of a process that waits until volumes that may be mounted are gone (pkg/kubelet/kubelet.go)
	cleanupPollPeriod = 100 * time.Millisecond
	// volumeTimeout is the longest wait for the volumes of a pod (podAttachAndMountTimeout), a
	// multiple of volumePollPeriod.
	volumeTimeout = 2*time.Minute + 3*time.Second
)

// Disk is the state on the disk of a node that outlives a kubelet: mounted volumes, the resources
// of admitted pods, image pulls and the manifests of static pods.
type Disk struct {
	manifests manifests
	mounted   map[types.UID]virtual.Time
	allocated map[types.UID]podResources // of the admitted pods
	// the resources that a kubelet gave the containers of a pod last, by name
	actuated map[types.UID]map[string]*amounts
	cgroups  map[types.UID]bool // of pods; they end with a reboot, at which the kubelet knows the resources
	pulls    map[string]bool    // images with a pull that has not ended
	pulled   map[string]bool    // images that a kubelet has pulled on this node
}

// NewDisk returns the disk of a node on which no kubelet has run.
func NewDisk() *Disk {
	return &Disk{
		manifests: newManifests(), mounted: map[types.UID]virtual.Time{}, pulls: map[string]bool{},
		pulled:    map[string]bool{},
		allocated: map[types.UID]podResources{}, actuated: map[types.UID]map[string]*amounts{},
		cgroups: map[types.UID]bool{},
	}
}

// EndMounts forgets the mounts that have not ended at a time, at which the kubelet stops: the next
// kubelet begins them again.
func (d *Disk) EndMounts(now virtual.Time) {
	maps.DeleteFunc(d.mounted, func(_ types.UID, t virtual.Time) bool { return t > now })
}

// volumes holds the times at which the volumes of pods are mounted and unmounted. All volumes of a
// pod are mounted together. Each kind of volume takes as long as an emptyDir plus the delay of the
// scenario.
type volumes struct {
	k         *Kubelet
	start     virtual.Time
	disk      *Disk
	seen      map[types.UID]virtual.Time // when the populator finds the pod
	mounted   map[types.UID]virtual.Time
	unmounted map[types.UID]virtual.Time
	// of each loop of the populator, the delay until the loop of the reconciler that follows
	later map[virtual.Time]time.Duration
}

func newVolumes(k *Kubelet, d *Disk) *volumes {
	return &volumes{
		k: k, start: k.sim.Now(), disk: d,
		seen: map[types.UID]virtual.Time{}, mounted: map[types.UID]virtual.Time{},
		unmounted: map[types.UID]virtual.Time{},
		later:     map[virtual.Time]time.Duration{},
	}
}

// Races of the volume manager. The name of the pod follows, except for raceOfLoops.
const (
	raceOfTurn  = "volumes seen in this turn: "
	raceOfLoops = "reconciler after populator"
	raceOfPoll  = "volumes polled first: "
)

// nextLoop returns the time of the next loop of the volume manager that can see a change of this
// instant. A loop at this very instant may run before or after the change.
func (v *volumes) nextLoop(pod *v1.Pod) virtual.Time {
	now := v.k.sim.Now()
	past := now.Sub(v.start) % volumeLoopPeriod
	if past == 0 && v.k.sim.Race(raceOfTurn+podName(pod), 2) == 1 {
		return now
	}
	return now.Add(volumeLoopPeriod - past)
}

// reconciledLater returns the delay between a loop of the populator and the loop of the reconciler
// that sees its result. Both timers fire together, in any order, which is the same for all pods.
func (v *volumes) reconciledLater(loop virtual.Time) time.Duration {
	later, ok := v.later[loop]
	if !ok {
		later = time.Duration(1-v.k.sim.Race(raceOfLoops, 2)) * volumeLoopPeriod
		v.later[loop] = later
	}
	return later
}

// waitForAttachAndMount waits until the volumes of a pod are mounted. The populator finds the pod,
// the reconciler attaches the volumes in its next loop and mounts them in the loop after that.
// Volumes that a previous kubelet mounted count as attached (reconstructVolumes in
// pkg/kubelet/volumemanager/reconciler at v1.37.0). It returns false if the volumes are not mounted
// when the sync is canceled or after volumeTimeout. Both end the poll without a look at the
// volumes, and WaitForAttachAndMount then looks once more and ignores the error if all are mounted.
// SyncPod records no event for either error, because wait.Interrupted is true for both
// (pkg/kubelet/volumemanager/volume_manager.go and kubelet.go at v1.34.4, v1.36.3 and v1.37.0).
func (v *volumes) waitForAttachAndMount(p *sim.Proc, w *podWorker, pod *v1.Pod) bool {
	if !mountsVolumes(pod) {
		return true
	}
	start := p.Now()
	ok := v.waitForMount(p, w, pod)
	v.recordWait(p, pod, start, "mount", ok)
	return ok
}

// waitForMount is the wait of waitForAttachAndMount.
func (v *volumes) waitForMount(p *sim.Proc, w *podWorker, pod *v1.Pod) bool {
	v.begin(pod)
	deadline := p.Now().Add(volumeTimeout)
	for v.isBefore(p, v.mounted[pod.UID], pod) {
		if w.canceled || p.Now() >= deadline {
			return false
		}
		w.mounting = p
		p.WakeAt(p.Now().Add(volumePollPeriod))
		p.Park()
		w.mounting = nil
	}
	return true
}

// expect begins to mount the volumes of a new static pod, which may have to wait until the pod
// before it has terminated, and of a pod whose volumes a previous kubelet mounted, which may not
// wait for them because it has ended. Other pods wait for their volumes at once.
func (v *volumes) expect(pod *v1.Pod) {
	_, known := v.k.workers.workers[pod.UID]
	if !known && (podutil.IsStatic(pod) || v.isReconstructed(pod)) && mountsVolumes(pod) {
		v.begin(pod)
	}
}

// begin begins to mount the volumes of a pod, unless that has begun already.
func (v *volumes) begin(pod *v1.Pod) {
	if _, ok := v.mounted[pod.UID]; ok {
		return
	}
	v.seen[pod.UID] = v.nextLoop(pod)
	begun := v.seen[pod.UID].Add(v.reconciledLater(v.seen[pod.UID]))
	if !v.isReconstructed(pod) {
		begun = begun.Add(volumeLoopPeriod)
	}
	v.mounted[pod.UID] = begun.Add(v.k.runtime.MountDelay(string(pod.UID)))
	if _, ok := v.disk.mounted[pod.UID]; !ok {
		v.disk.mounted[pod.UID] = v.mounted[pod.UID]
	}
}

// isBefore reports whether an event at time t has not happened yet. At time t itself, the chooser
// decides.
func (v *volumes) isBefore(p *sim.Proc, t virtual.Time, pod *v1.Pod) bool {
	return p.Now() < t || p.Now() == t && v.k.sim.Race(raceOfPoll+podName(pod), 2) == 0
}

// isReconstructed reports whether a previous kubelet mounted the volumes of a pod.
func (v *volumes) isReconstructed(pod *v1.Pod) bool {
	before, ok := v.disk.mounted[pod.UID]
	return ok && before <= v.start
}

// mountsVolumes reports whether a container of the pod mounts a volume. The kubelet does not wait
// for volumes that no container mounts (getExpectedVolumes in
// pkg/kubelet/volumemanager/volume_manager.go at v1.37.0).
func mountsVolumes(pod *v1.Pod) bool {
	mounts := func(c v1.Container) bool { return len(c.VolumeMounts)+len(c.VolumeDevices) > 0 }
	return slices.ContainsFunc(pod.Spec.Containers, mounts) || slices.ContainsFunc(pod.Spec.InitContainers, mounts) ||
		slices.ContainsFunc(ephemeralContainers(pod), mounts)
}

// stopMounting ends the wait of a pod worker for volumes.
func (w *podWorker) stopMounting() {
	if p := w.mounting; p != nil {
		w.mounting = nil
		p.Interrupt()
	}
}

// unmount starts to unmount the volumes of a pod whose containers have stopped: the populator
// notices the stop, and then the reconciler unmounts the volumes, including volumes that a previous
// kubelet mounted. The reconciler does not touch volumes that are being mounted again. The first
// loop of the populator leaves out pods whose containers have stopped, so the volumes of a pod that
// stops before are not mounted again (findAndAddNewPods in
// pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go at v1.37.0).
func (v *volumes) unmount(pod *v1.Pod) {
	if v.isReconstructed(pod) && v.k.sim.Now() < v.seen[pod.UID] {
		delete(v.mounted, pod.UID)
	}
	mounted, known := v.mounted[pod.UID]
	if !known && !v.isReconstructed(pod) {
		return
	}
	loop := v.nextLoop(pod)
	v.unmounted[pod.UID] = loop.Add(v.reconciledLater(loop))
	if v.isReconstructed(pod) && mounted >= v.unmounted[pod.UID] {
		v.unmounted[pod.UID] = v.loopAfter(mounted)
	}
}

// loopAfter returns the time of the first loop of the reconciler after a mount that ends at a time.
// If a loop begins at that time, it may begin before the end of the mount.
func (v *volumes) loopAfter(mounted virtual.Time) virtual.Time {
	past := mounted.Sub(v.start) % volumeLoopPeriod
	if past == 0 && v.reconciledLater(mounted) == 0 {
		return mounted
	}
	return mounted.Add(volumeLoopPeriod - past)
}

// waitForUnmount is the wait of a sync until the volumes of its pod are unmounted.
func (v *volumes) waitForUnmount(p *sim.Proc, pod *v1.Pod) {
	start := p.Now()
	if v.pollForUnmount(p, pod) {
		v.recordWait(p, pod, start, "unmount", true)
	}
}

// pollForUnmount waits until the volumes of a pod are unmounted. It reports false if this kubelet
// had not mounted them yet.
func (v *volumes) pollForUnmount(p *sim.Proc, pod *v1.Pod) bool {
	if mounted, known := v.mounted[pod.UID]; v.isReconstructed(pod) && (!known || p.Now() < mounted) {
		v.waitUntilGone(p, pod)
		return false
	}
	v.pollUntilUnmounted(p, pod, volumePollPeriod)
	return true
}

// waitUntilGone waits until the volumes that are being mounted again are unmounted. WaitForUnmount
// does not wait for them, because it is uncertain whether they are mounted, but SyncTerminatedPod
// then does (pkg/kubelet/kubelet.go at v1.37.0).
func (v *volumes) waitUntilGone(p *sim.Proc, pod *v1.Pod) {
	v.pollUntilUnmounted(p, pod, cleanupPollPeriod)
}

func (v *volumes) pollUntilUnmounted(p *sim.Proc, pod *v1.Pod, period time.Duration) {
	for t, ok := v.unmounted[pod.UID]; ok && v.isBefore(p, t, pod); t, ok = v.unmounted[pod.UID] {
		p.Sleep(period)
	}
}

// recordWait records the end of a wait that took any time.
func (v *volumes) recordWait(p *sim.Proc, pod *v1.Pod, start virtual.Time, reason string, ok bool) {
	if took := p.Now().Sub(start); took > 0 {
		v.k.trace.Add(trace.Record{
			T: p.Now(), Kind: trace.VolumeWaitEnded, Cause: p.Cause(), Pod: podName(pod), Reason: reason,
			Result: resultOf(ok), Took: took,
		})
	}
}

// forget removes the state of a pod's volumes after they were unmounted.
func (v *volumes) forget(pod *v1.Pod) {
	delete(v.seen, pod.UID)
	delete(v.mounted, pod.UID)
	delete(v.disk.mounted, pod.UID)
	delete(v.unmounted, pod.UID)
}
