package realkubelet

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// world implements drive.World for the real kubelet. The driver calls its methods one at a time.
type world struct {
	driver   *driver
	api      *podAPI
	node     *node
	lastStep int64 // step of the last record of kind Step
	err      error // the first error
}

// errNotEvictable is the error of EvictPod if the kubelet does not run, does not have the pod, or
// would not evict it.
var errNotEvictable = errors.New("the kubelet cannot evict the pod")

var _ drive.World = (*world)(nil)

func (w *world) AddAdmitted(pod *v1.Pod, program fakeruntime.Pod) error {
	return w.keepError(w.api.add(pod, program), "add", store.Key(pod))
}

func (w *world) DeletePod(namespace, name string, gracePeriodSeconds *int64) error {
	key := namespace + "/" + name
	return w.keepError(w.api.requestDeletion(key, gracePeriodSeconds), "delete", key)
}

func (w *world) KillContainer(k fakeruntime.Kill) (killed bool) {
	w.driver.change(func(r *fakeruntime.Runtime, now virtual.Time) { killed = r.Kill(now, k) })
	return killed
}

func (w *world) Occur(moment int) {
	w.driver.change(func(r *fakeruntime.Runtime, now virtual.Time) { r.Occur(now, moment) })
}

func (w *world) PatchPod(namespace, name string, patch []byte) error {
	return w.change(namespace+"/"+name, "patch",
		func(pod *v1.Pod) (*v1.Pod, error) { return admission.Patch(w.api.profile, pod, patch) })
}

func (w *world) PatchPodStatus(namespace, name string, patch []byte) error {
	return w.change(namespace+"/"+name, "patch the status of",
		func(pod *v1.Pod) (*v1.Pod, error) { return admission.PatchStatus(pod, patch) })
}

func (w *world) ResizePod(namespace, name string, patch []byte) error {
	return w.change(namespace+"/"+name, "resize",
		func(pod *v1.Pod) (*v1.Pod, error) { return admission.Resize(w.api.profile, pod, patch) })
}

func (w *world) change(key, what string, admit func(*v1.Pod) (*v1.Pod, error)) error {
	return w.keepError(w.api.change(key, admit), what, key)
}

func (w *world) AddEphemeralContainer(namespace, name string, c v1.EphemeralContainer,
	program fakeruntime.ContainerConfig) error {
	key := namespace + "/" + name
	return w.keepError(w.api.addEphemeralContainer(key, c, program), "add an ephemeral container to", key)
}

// EvictPod starts an eviction by the kubelet's eviction manager, which waits until the pod is gone.
func (w *world) EvictPod(namespace, name string) error {
	key := namespace + "/" + name
	pod := w.api.get(key)
	if pod == nil || w.node.kubelet == nil {
		return errNotEvictable
	}
	evict := w.node.kubelet.eviction(pod.UID)
	if evict == nil {
		return errNotEvictable
	}
	w.Record(trace.Record{Kind: trace.Step, Pod: key, Reason: "evict"})
	go evict()
	return nil
}

func (w *world) StopKubelet() bool { return w.node.stop() }

func (w *world) StartKubelet() { w.node.restart() }

// ShutDown sends the kubelet a shutdown of its node from systemd. Only the first shutdown counts.
func (w *world) ShutDown() bool {
	k := w.node.kubelet
	if k == nil || k.shutdowns == nil {
		return false
	}
	w.Record(trace.Record{Kind: trace.Step, Reason: "shutdownNode"})
	k.shutdowns <- true
	k.shutdowns = nil
	return true
}

func (w *world) PowerOff(back virtual.Time) { w.node.powerOff(back, w.lastStep) }

func (w *world) SetDelays(d ...fakeruntime.Delays) {
	w.driver.change(func(r *fakeruntime.Runtime, _ virtual.Time) { r.SetDelays(d...) })
}

// SetAPIDown starts or ends an outage of the API server. At the end of an outage the kubelet lists
// the pods again.
func (w *world) SetAPIDown(down bool) {
	w.driver.apiDown.Store(down)
	if down {
		w.node.conn.refuse()
		return
	}
	w.api.mu.Lock()
	defer w.api.mu.Unlock()
	w.api.notify()
}

func (w *world) SetRuntimeHealth(h fakeruntime.Health) {
	w.driver.setHealth(h)
}

func (w *world) FailCalls(f fakeruntime.Fault) {
	w.driver.change(func(r *fakeruntime.Runtime, now virtual.Time) { r.FailCalls(now, f) })
}

// StepClock requires a program that was built with the overlay.
func (w *world) StepClock(by time.Duration) {
	if !Overlay && w.err == nil {
		w.err = ErrStepClock
	}
	w.driver.stepClock(by)
}

func (w *world) Record(r trace.Record) int64 {
	step := w.driver.recorder.add(r)
	if r.Kind == trace.Step {
		w.lastStep = step
	}
	return step
}

func (w *world) At(t virtual.Time, do func()) { w.driver.at(t, do) }

// Observe calls f while the trace is locked: the only method of the world that f may call is At.
func (w *world) Observe(f func(*trace.Record)) { w.driver.recorder.observe(f) }

// keepError keeps the first error, and returns err.
func (w *world) keepError(err error, verb, key string) error {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("at %v: %s pod %s: %w", w.driver.now(), verb, key, err)
	}
	return err
}
