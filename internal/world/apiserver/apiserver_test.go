package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// latencies are constant delays.
type latencies struct {
	fakeruntime.Runtime // without faults
	get, patch, del     time.Duration
}

func (l *latencies) APIGet(*v1.Pod) time.Duration    { return l.get }
func (l *latencies) APIPatch(*v1.Pod) time.Duration  { return l.patch }
func (l *latencies) APIDelete(*v1.Pod) time.Duration { return l.del }

type world struct {
	*apiserver.Server
	sim   *sim.Sim
	trace *trace.Recorder
	watch *sim.Chan[apiserver.WatchEvent]
	t     *testing.T
}

// newWorld returns a server whose clock starts 0.4 s past a second.
func newWorld(t *testing.T) *world {
	w := &world{sim: sim.New(sim.Options{}), trace: &trace.Recorder{}, t: t}
	start := time.Date(2000, 1, 1, 0, 0, 0, 400e6, time.UTC)
	w.Server = apiserver.New(apiserver.Options{
		Sim: w.sim, Trace: w.trace, Now: func() time.Time { return start.Add(w.sim.Now().Offset()) },
		Profile: profile.Newest(),
		Delays:  &latencies{get: time.Millisecond, patch: 2 * time.Millisecond, del: 3 * time.Millisecond},
	})
	w.watch = w.Watch()
	w.changes()
	t.Cleanup(w.sim.Close)
	return w
}

func (w *world) until(t time.Duration) {
	w.t.Helper()
	if err := w.sim.RunUntil(virtual.At(t)); err != nil {
		w.t.Fatal(err)
	}
}

// changes returns the events that the watch has received since the last call.
func (w *world) changes() string {
	var list []string
	for e, ok := w.watch.TryRecv(); ok; e, ok = w.watch.TryRecv() {
		list = append(list, string(e.Type))
	}
	return strings.Join(list, " ")
}

// labelled is a change that adds a label.
func labelled(pod *v1.Pod) (*v1.Pod, error) {
	pod = pod.DeepCopy()
	pod.Labels = map[string]string{"a": "b"}
	return pod, nil
}

// none is the cause of a change without a record.
func none() int64 { return 0 }

// web returns the pod ns/web.
func web() *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "ns", "web"
	pod.Spec.Containers = []v1.Container{{Name: "app", Image: "web:1"}}
	return pod
}

// create adds the pod ns/web with a grace period in seconds.
func (w *world) create(grace int64) {
	w.t.Helper()
	pod := web()
	pod.Spec.TerminationGracePeriodSeconds = &grace
	if _, err := w.Create(pod); err != nil {
		w.t.Fatal(err)
	}
}

// remove deletes the pod ns/web as a user does.
func (w *world) remove(grace *int64) {
	w.t.Helper()
	if err := w.Delete("ns", "web", grace); err != nil {
		w.t.Error(err)
	}
}

// patch sets the phase as the kubelet does.
func (w *world) patch(phase v1.PodPhase) {
	w.sim.Go("status manager", func(p *sim.Proc) {
		w.PatchStatus(p, "ns", "web", &v1.PodStatus{}, &v1.PodStatus{Phase: phase})
	})
	w.until(w.sim.Now().Offset() + time.Second)
}

// deletion describes the deletion of ns/web: its grace period, its deletion timestamp and the
// generation.
func (w *world) deletion() string {
	pod := w.Pod("ns", "web")
	switch {
	case pod == nil:
		return "gone"
	case pod.DeletionTimestamp == nil:
		return "stays"
	}
	at := pod.DeletionTimestamp
	return fmt.Sprintf("%d s until %d.%03d, generation %d", *pod.DeletionGracePeriodSeconds, at.Second(),
		at.Nanosecond()/1e6, pod.Generation)
}

// Delete follows pkg/registry/core/pod/strategy.go and pkg/registry/rest/delete.go at v1.37.0. Each
// delete is a time and a grace period in seconds; own is the grace period of the pod.
func TestDelete(t *testing.T) {
	const own = -100
	for _, c := range []struct {
		name    string
		phase   v1.PodPhase
		deletes [][2]int64
		want    string
		watch   string
	}{
		{"the pod's own grace period", v1.PodRunning, [][2]int64{{1, own}}, "30 s until 31.000, generation 2",
			"MODIFIED"},
		{"a longer grace period", v1.PodRunning, [][2]int64{{1, 45}}, "45 s until 46.000, generation 2", "MODIFIED"},
		{"force", v1.PodRunning, [][2]int64{{1, 0}}, "gone", "DELETED"},
		{"a negative grace period is a second", v1.PodRunning, [][2]int64{{1, -5}}, "1 s until 2.000, generation 2",
			"MODIFIED"},
		{"a pod that has succeeded", v1.PodSucceeded, [][2]int64{{1, own}}, "gone", "DELETED"},
		{"a pod that has failed, with a grace period", v1.PodFailed, [][2]int64{{1, 20}}, "gone", "DELETED"},
		{"a shorter grace period counts from the first delete", v1.PodRunning, [][2]int64{{1, own}, {5, 10}},
			"10 s until 11.000, generation 2", "MODIFIED MODIFIED"},
		{"a shorter grace period that has already passed", v1.PodRunning, [][2]int64{{1, own}, {21, 10}},
			"1 s until 21.000, generation 2", "MODIFIED MODIFIED"},
		{"a second delete with a longer grace period", v1.PodRunning, [][2]int64{{1, own}, {5, 45}},
			"30 s until 31.000, generation 2", "MODIFIED"},
		{"a second delete with an equal grace period", v1.PodRunning, [][2]int64{{1, own}, {5, 30}},
			"30 s until 31.000, generation 2", "MODIFIED"},
		{"a second delete without a grace period", v1.PodRunning, [][2]int64{{1, 10}, {5, own}},
			"10 s until 11.000, generation 2", "MODIFIED"},
		{"a second delete by force", v1.PodRunning, [][2]int64{{1, own}, {5, 0}}, "gone", "MODIFIED DELETED"},
		{"a pod that is gone", v1.PodRunning, [][2]int64{{1, 0}, {5, 0}}, "gone", "DELETED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(30)
			w.patch(c.phase)
			w.changes()
			for _, d := range c.deletes {
				w.until(time.Duration(d[0]) * time.Second)
				grace := &d[1]
				if *grace == own {
					grace = nil
				}
				if err := w.Delete("ns", "web", grace); err != nil && !apierrors.IsNotFound(err) {
					t.Error(err)
				}
			}
			if got := w.deletion(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := w.changes(); got != c.watch {
				t.Errorf("the watch received %q, want %q", got, c.watch)
			}
		})
	}
}

// A second delete does not remove a pod that has terminated since the first one: the kubelet
// removes it.
func TestSecondDeleteOfTerminatedPod(t *testing.T) {
	w := newWorld(t)
	w.create(30)
	w.remove(nil)
	w.patch(v1.PodSucceeded)
	w.remove(nil)
	if got := w.deletion(); got != "30 s until 30.000, generation 2" {
		t.Errorf("got %s", got)
	}
}

// A new pod is pending, its times are whole seconds, and Create does not change its argument.
func TestCreate(t *testing.T) {
	w := newWorld(t)
	pod := web()
	pod.Status.Phase = v1.PodRunning
	created, err := w.Create(pod)
	if err != nil {
		t.Fatal(err)
	}
	got := w.Pod("ns", "web")
	if got != created || got.Spec.RestartPolicy != v1.RestartPolicyAlways || got.UID == "" {
		t.Errorf("got %+v", got)
	}
	if got.Status.Phase != v1.PodPending || got.Generation != 1 || got.CreationTimestamp.Nanosecond() != 0 {
		t.Errorf("got phase %s, generation %d, created at %v", got.Status.Phase, got.Generation, got.CreationTimestamp)
	}
	if pod.Status.Phase != v1.PodRunning || pod.Generation != 0 {
		t.Error("Create changed its argument")
	}
}

// A second pod of a name gets another UID.
func TestCreateAgain(t *testing.T) {
	w := newWorld(t)
	first, err := w.Create(web())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(web()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second pod of the same name: error %v", err)
	}
	w.remove(new(int64))
	second, err := w.Create(web())
	if err != nil || second.UID == first.UID {
		t.Errorf("created again as %+v, error %v", second, err)
	}
	w.remove(new(int64))
	same := web()
	same.UID = first.UID
	if _, err := w.Create(same); !apierrors.IsConflict(err) {
		t.Errorf("a pod with the UID of another: error %v", err)
	}
}

// Methods of users return the errors of the API server, and a failed call changes nothing.
func TestErrors(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Create(&v1.Pod{}); !apierrors.IsInvalid(err) {
		t.Errorf("an invalid pod: error %v", err)
	}
	w.create(30)
	w.changes()
	cause := func() int64 {
		t.Error("a patch that fails has a cause")
		return 0
	}
	for _, test := range []struct {
		name string
		err  error
		is   func(error) bool
	}{
		{"delete an unknown pod", w.Delete("ns", "db", nil), apierrors.IsNotFound},
		{"change an unknown pod", w.Change("ns", "db", cause, labelled), apierrors.IsNotFound},
		{"an unreadable patch", w.Change("ns", "web", cause, func(pod *v1.Pod) (*v1.Pod, error) {
			return admission.Patch(profile.Newest(), pod, []byte("{"))
		}), apierrors.IsBadRequest},
	} {
		if !test.is(test.err) {
			t.Errorf("%s: error %v", test.name, test.err)
		}
	}
	if got := w.changes(); got != "" {
		t.Errorf("the watch received %q", got)
	}
}

// Calls take their latency, act on the pod at its end, and never change a pod in place.
func TestCallsTakeTime(t *testing.T) {
	w := newWorld(t)
	w.create(30)
	held := w.Pod("ns", "web")
	var got []string
	w.sim.Go("status manager", func(p *sim.Proc) {
		note := func(call string, ok bool) { got = append(got, fmt.Sprint(p.Now(), " ", call, " ", ok)) }
		_, ok := w.GetPod(p, "ns", "web")
		note("get", ok)
		p.SetCause(7)
		pod, ok := w.PatchStatus(p, "ns", "web", &v1.PodStatus{}, &v1.PodStatus{Phase: v1.PodRunning})
		note("patch to "+string(pod.Status.Phase), ok)
		p.SetCause(8)
		w.DeletePod(p, "ns", "web")
		note("delete", true)
		w.DeletePod(p, "ns", "web")
		note("delete", true)
		_, ok = w.PatchStatus(p, "ns", "web", &v1.PodStatus{}, &v1.PodStatus{})
		note("patch", ok)
		_, ok = w.GetPod(p, "ns", "web")
		note("get", ok)
	})
	w.until(time.Second)
	want := []string{
		"1ms get true", "3ms patch to Running true", "6ms delete true", "9ms delete true", "11ms patch false",
		"12ms get false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if held.Status.Phase != v1.PodPending {
		t.Error("a stored pod was changed in place")
	}
	if got := w.changes(); got != "ADDED MODIFIED DELETED" {
		t.Errorf("the watch received %q", got)
	}
	var kinds []string
	for _, r := range w.trace.Records() {
		kinds = append(kinds, fmt.Sprintf("%v %s %s %d", r.T, r.Kind, r.Pod, r.Cause))
	}
	wantKinds := []string{"0s PodAdded ns/web 0", "3ms StatusPatched ns/web 7", "6ms PodRemoved ns/web 8"}
	if diff := cmp.Diff(wantKinds, kinds); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// While the server is down, calls of the kubelet fail immediately, the call in progress is
// interrupted, and the watch is silent. Calls of users work. When the server is back, the watch
// receives the list of all pods.
func TestDown(t *testing.T) {
	w := newWorld(t)
	w.create(30)
	var got []string
	w.sim.Go("status manager", func(p *sim.Proc) {
		note := func(call string, ok bool) { got = append(got, fmt.Sprint(p.Now(), " ", call, " ", ok)) }
		_, ok := w.GetPod(p, "ns", "web")
		note("get", ok)
		_, ok = w.PatchStatus(p, "ns", "web", &v1.PodStatus{}, &v1.PodStatus{Phase: v1.PodRunning})
		note("patch", ok)
		_, ok = w.GetPod(p, "ns", "web")
		note("get", ok)
		note("delete", w.DeletePod(p, "ns", "web"))
		p.Sleep(8 * time.Millisecond)
		_, ok = w.GetPod(p, "ns", "web")
		note("get", ok)
	})
	w.sim.At(virtual.At(2*time.Millisecond), "down", func() { w.SetDown(true) })
	w.until(5 * time.Millisecond)
	w.changes()
	w.remove(nil)
	if err := w.Change("ns", "web", none, labelled); err != nil {
		t.Error(err)
	}
	if got := w.changes(); got != "" {
		t.Errorf("the watch received %q while the server is down", got)
	}
	w.SetDown(false)
	if got := w.changes(); got != "LISTED" {
		t.Errorf("the watch received %q when the server is back", got)
	}
	w.until(time.Second)
	want := []string{"1ms get true", "2ms patch false", "2ms get false", "2ms delete false", "11ms get true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if pod := w.Pod("ns", "web"); pod.DeletionTimestamp == nil || pod.Labels["a"] != "b" ||
		pod.Status.Phase != v1.PodPending {
		t.Errorf("the pod is %+v", pod)
	}
}

// A watch that starts while the server is down receives the list when the server is back. The watch
// that it replaces receives nothing more.
func TestWatchWhileDown(t *testing.T) {
	w := newWorld(t)
	w.create(30)
	w.SetDown(true)
	before := w.watch
	w.watch = w.Watch()
	if got := w.changes(); got != "" {
		t.Errorf("the new watch received %q", got)
	}
	w.SetDown(false)
	if e, ok := w.watch.TryRecv(); !ok || e.Type != apiserver.Listed || len(e.Pods) != 1 || e.Pods[0].Name != "web" {
		t.Errorf("the new watch received %+v", e)
	}
	w.watch = before
	if got := w.changes(); got != "ADDED" {
		t.Errorf("the old watch received %q", got)
	}
}

// Observed lists the containers in the order of the spec, init containers first, and leaves out
// those without a status.
func TestObserved(t *testing.T) {
	yes := true
	pod := &v1.Pod{
		Spec: v1.PodSpec{
			InitContainers: []v1.Container{{Name: "init"}},
			Containers:     []v1.Container{{Name: "web"}, {Name: "db"}, {Name: "unknown"}, {Name: "cache"}},
		},
		Status: v1.PodStatus{
			Phase: v1.PodRunning, Reason: "Because",
			Conditions: []v1.PodCondition{
				{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.ContainersReady, Status: v1.ConditionUnknown},
				{Type: v1.PodInitialized, Status: v1.ConditionTrue},
			},
			InitContainerStatuses: []v1.ContainerStatus{{Name: "init", State: v1.ContainerState{
				Terminated: &v1.ContainerStateTerminated{Reason: "Error", ExitCode: 3},
			}}},
			ContainerStatuses: []v1.ContainerStatus{
				{Name: "cache"},
				{Name: "db", RestartCount: 2, State: v1.ContainerState{
					Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
				{Name: "web", Ready: true, Started: &yes,
					State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
			},
		},
	}
	want := &trace.PodStatus{
		Phase: "Running", Reason: "Because", Initialized: true, Ready: true,
		Containers: []trace.ContainerStatus{
			{Name: "init", State: "terminated", Reason: "Error", ExitCode: 3},
			{Name: "web", State: "running", Ready: true, Started: true},
			{Name: "db", State: "waiting", Reason: "CrashLoopBackOff", RestartCount: 2},
			{Name: "cache", State: "waiting"},
		},
	}
	if diff := cmp.Diff(want, apiserver.Observed(pod)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The details of a status are in the order of its containers, and their times count from the wall
// time of t=0.
func TestObservedInDetail(t *testing.T) {
	zero := time.Date(2000, 1, 1, 0, 0, 0, 5e8, time.UTC)
	at := func(s int) metav1.Time {
		return metav1.NewTime(zero.Truncate(time.Second).Add(time.Duration(s) * time.Second))
	}
	virtualAt := func(s int) *virtual.Time { return new(virtual.At(time.Duration(s)*time.Second - time.Second/2)) }
	pod := &v1.Pod{
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web"}, {Name: "db"}, {Name: "lost"}}},
		Status: v1.PodStatus{
			PodIPs: []v1.PodIP{{IP: "10.0.0.2"}, {IP: "fd00::2"}},
			Conditions: []v1.PodCondition{
				{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: at(0)},
				{Type: v1.DisruptionTarget, Status: v1.ConditionUnknown, LastTransitionTime: at(9), Reason: "Because",
					Message: "of that"},
			},
			ContainerStatuses: []v1.ContainerStatus{
				{Name: "db", Image: "db:1", State: v1.ContainerState{
					Terminated: &v1.ContainerStateTerminated{StartedAt: at(1), FinishedAt: at(2)}}},
				{
					Name: "web", Image: "web:1", State: v1.ContainerState{
						Running: &v1.ContainerStateRunning{StartedAt: at(3)}},
					LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 1,
						Reason: "Error", StartedAt: at(1), FinishedAt: at(2)}},
				},
				{Name: "lost", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}},
			},
		},
	}
	want := &trace.PodStatus{
		Containers: []trace.ContainerStatus{
			{Name: "web", State: "running", Details: &trace.ContainerDetails{
				Image: "web:1", StartedAt: virtualAt(3),
				LastState: &trace.Termination{ExitCode: 1, Reason: "Error", StartedAt: virtualAt(1),
					FinishedAt: virtualAt(2)},
			}},
			{Name: "db", State: "terminated",
				Details: &trace.ContainerDetails{Image: "db:1", StartedAt: virtualAt(1), FinishedAt: virtualAt(2)}},
			{Name: "lost", State: "terminated", Details: &trace.ContainerDetails{}},
		},
		Details: &trace.PodDetails{
			PodIPs: []string{"10.0.0.2", "fd00::2"},
			Conditions: []trace.Condition{
				{Type: "DisruptionTarget", Status: "Unknown", Since: *virtualAt(9), Reason: "Because",
					Message: "of that"},
				{Type: "PodScheduled", Status: "True", Since: *virtualAt(0)},
			},
		},
	}
	if diff := cmp.Diff(want, apiserver.ObservedInDetail(pod, zero)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
