package status_test

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
)

// world is a Manager between a kubelet, whose calls the test makes, and an API server that logs its
// calls.
type world struct {
	*status.Manager
	causes  []int64 // of the patches
	t       *testing.T
	sim     *sim.Sim
	api     map[string]*v1.Pod    // by name
	kubelet map[types.UID]*v1.Pod // the kubelet's view of the API
	mirrors map[types.UID]*v1.Pod // mirror pods by the UID of the static pod
	deaf    bool                  // the kubelet receives no updates from the API
	latency time.Duration         // of each call
	running bool                  // containers could be running
	down    map[string]bool       // which calls fail: GET, PATCH, DELETE
	calls   []string
}

// start is the time at 0 s, with a fraction of a second.
var start = time.Date(2000, 1, 1, 0, 0, 0, 300e6, time.UTC)

func newWorld(t *testing.T) *world { return newWorldOf(t, nil) }

func newWorldOf(t *testing.T, c choose.Chooser) *world {
	w := &world{t: t, sim: sim.New(sim.Options{Chooser: c}), api: map[string]*v1.Pod{},
		kubelet: map[types.UID]*v1.Pod{}, mirrors: map[types.UID]*v1.Pod{}, latency: 10 * time.Millisecond}
	w.Manager = status.NewManager(status.Options{
		Sim: w.sim, Now: w.now, API: w, Pods: w,
		CouldHaveRunningContainers: func(types.UID) bool { return w.running },
	})
	w.Start()
	t.Cleanup(w.sim.Close)
	return w
}

func (w *world) now() time.Time { return start.Add(w.sim.Now().Offset()) }

// until runs the simulation until t and returns the calls since the last until.
func (w *world) until(t time.Duration) []string {
	w.t.Helper()
	if err := w.sim.RunUntil(virtual.At(t)); err != nil {
		w.t.Fatal(err)
	}
	calls := w.calls
	w.calls = nil
	return calls
}

func (w *world) note(call string) { w.calls = append(w.calls, fmt.Sprint(w.sim.Now(), " ", call)) }

func (w *world) GetPodByUID(uid types.UID) (*v1.Pod, bool) {
	pod, ok := w.kubelet[uid]
	return pod, ok
}

func (w *world) GetMirrorPodByPod(pod *v1.Pod) (*v1.Pod, bool) {
	mirror, ok := w.mirrors[pod.UID]
	return mirror, ok
}

func (w *world) GetMirrorUID(uid types.UID) (types.UID, bool) {
	if mirror, ok := w.mirrors[uid]; ok {
		return mirror.UID, true
	}
	pod, ok := w.kubelet[uid]
	return uid, !ok || !podutil.IsStatic(pod)
}

func (w *world) TranslatePodUID(uid types.UID) types.UID {
	for static, mirror := range w.mirrors {
		if mirror.UID == uid {
			return static
		}
	}
	return uid
}

func (w *world) GetPod(p *sim.Proc, _, name string) (*v1.Pod, bool) {
	w.note("GET " + name)
	p.Sleep(w.latency)
	pod, ok := w.api[name]
	return pod, ok && !w.down["GET"]
}

func (w *world) PatchStatus(p *sim.Proc, _, name string, _, s *v1.PodStatus) (*v1.Pod, bool) {
	w.causes = append(w.causes, p.Cause())
	w.note("PATCH " + name + " " + string(s.Phase))
	p.Sleep(w.latency)
	old, ok := w.api[name]
	if !ok || w.down["PATCH"] {
		return nil, false
	}
	pod := *old
	pod.Status = *s
	w.store(&pod)
	return &pod, true
}

func (w *world) DeletePod(p *sim.Proc, _, name string) bool {
	w.note("DELETE " + name)
	p.Sleep(w.latency)
	if w.down["DELETE"] {
		return false
	}
	delete(w.api, name)
	return true
}

// store puts a pod into the API and, unless the kubelet is deaf, into the kubelet's view.
func (w *world) store(pod *v1.Pod) {
	w.api[pod.Name] = pod
	if !w.deaf {
		w.kubelet[pod.UID] = pod
	}
}

// pod creates a pod with one container in the API.
func (w *world) pod(name string) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID, pod.Generation = "ns", name, types.UID("uid of "+name), 1
	pod.Spec.Containers = []v1.Container{{Name: "app"}}
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	pod.Status.Phase = v1.PodPending
	w.store(pod)
	return pod
}

// change stores a changed copy of a pod in the API and returns it.
func (w *world) change(pod *v1.Pod, f func(*v1.Pod)) *v1.Pod {
	pod = pod.DeepCopy()
	f(pod)
	w.store(pod)
	return pod
}

func (w *world) remove(pod *v1.Pod) {
	delete(w.api, pod.Name)
	delete(w.kubelet, pod.UID)
}

// running returns the status of a pod with a running container.
func running(pod *v1.Pod, ready bool) *v1.PodStatus {
	s := &v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
		Name: "app", ContainerID: "id of " + pod.Name, Ready: ready,
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}},
	}}}
	return withConditions(pod, s)
}

// exited returns the status of a pod with a terminated container.
func exited(pod *v1.Pod, code int32) *v1.PodStatus {
	s := running(pod, false)
	s.Phase = v1.PodSucceeded
	if code != 0 {
		s.Phase = v1.PodFailed
	}
	s.ContainerStatuses[0].State = v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		ExitCode: code, StartedAt: metav1.NewTime(start), FinishedAt: metav1.NewTime(start),
	}}
	return withConditions(pod, s)
}

func withConditions(pod *v1.Pod, s *v1.PodStatus) *v1.PodStatus {
	s.Conditions = []v1.PodCondition{
		status.GeneratePodInitializedCondition(pod, nil, s.ContainerStatuses, s.Phase),
		status.GeneratePodReadyCondition(pod, nil, s.ContainerStatuses, s.Phase),
		status.GenerateContainersReadyCondition(pod, s.ContainerStatuses, s.Phase),
	}
	return s
}

// cached returns the stored status.
func (w *world) cached(pod *v1.Pod) *v1.PodStatus {
	w.t.Helper()
	s, ok := w.GetPodStatus(pod.UID)
	if !ok {
		w.t.Fatalf("no status of %s", pod.Name)
	}
	return s
}

func conditionIs(s *v1.PodStatus, t v1.PodConditionType) v1.ConditionStatus {
	if c := status.FindCondition(s, t); c != nil {
		return c.Status
	}
	return "missing"
}
