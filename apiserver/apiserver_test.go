package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// latencies are those of the calls in milliseconds.
type latencies struct{ get, patch, del time.Duration }

func (l latencies) APIGet(*v1.Pod) time.Duration    { return l.get }
func (l latencies) APIPatch(*v1.Pod) time.Duration  { return l.patch }
func (l latencies) APIDelete(*v1.Pod) time.Duration { return l.del }

type world struct {
	*apiserver.Server
	sim   *sim.Sim
	trace *trace.Recorder
	watch *sim.Chan[apiserver.WatchEvent]
	t     *testing.T
}

// The clock shows 0.4 s past a second.
func newWorld(t *testing.T) *world {
	w := &world{sim: sim.New(sim.Options{}), trace: &trace.Recorder{}, t: t}
	start := time.Date(2000, 1, 1, 0, 0, 0, 400e6, time.UTC)
	w.Server = apiserver.New(apiserver.Options{
		Sim: w.sim, Trace: w.trace, Now: func() time.Time { return start.Add(w.sim.Now()) },
		Delays: latencies{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond},
	})
	w.watch = w.Watch()
	w.changes()
	t.Cleanup(w.sim.Close)
	return w
}

func (w *world) until(t time.Duration) {
	w.t.Helper()
	if err := w.sim.RunUntil(t); err != nil {
		w.t.Fatal(err)
	}
}

// changes returns what the watch has to say since the last time.
func (w *world) changes() string {
	var list []string
	for e, ok := w.watch.TryRecv(); ok; e, ok = w.watch.TryRecv() {
		list = append(list, string(e.Type))
	}
	return strings.Join(list, " ")
}

// create adds a pod with a grace period.
func (w *world) create(grace int64) {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "ns", "web"
	pod.Spec.TerminationGracePeriodSeconds = &grace
	w.Create(pod)
}

// patch sets the phase.
func (w *world) patch(phase v1.PodPhase) {
	w.sim.Go("status manager", func(p *sim.Proc) {
		w.PatchStatus(p, "ns", "web", &v1.PodStatus{}, &v1.PodStatus{Phase: phase})
	})
	w.until(w.sim.Now() + time.Second)
}

// deletion says until which second a pod has how many seconds, or that it is gone.
func (w *world) deletion() string {
	pod := w.Pod("ns", "web")
	switch {
	case pod == nil:
		return "gone"
	case pod.DeletionTimestamp == nil:
		return "stays"
	}
	at := pod.DeletionTimestamp
	return fmt.Sprintf("%d s until %d.%03d, generation %d", *pod.DeletionGracePeriodSeconds, at.Second(), at.Nanosecond()/1e6, pod.Generation)
}

// Deletes as the API server treats them (pkg/registry/core/pod/strategy.go, pkg/registry/rest/delete.go): each
// is a time in seconds and a grace period, own for the pod's.
func TestDelete(t *testing.T) {
	const own = -100
	for _, c := range []struct {
		name    string
		phase   v1.PodPhase
		deletes [][2]int64
		want    string
		watch   string
	}{
		{"the pod's own grace period", v1.PodRunning, [][2]int64{{1, own}}, "30 s until 31.000, generation 2", "MODIFIED"},
		{"a longer one", v1.PodRunning, [][2]int64{{1, 45}}, "45 s until 46.000, generation 2", "MODIFIED"},
		{"force", v1.PodRunning, [][2]int64{{1, 0}}, "gone", "DELETED"},
		{"a negative one is a second", v1.PodRunning, [][2]int64{{1, -5}}, "1 s until 2.000, generation 2", "MODIFIED"},
		{"a pod that has succeeded", v1.PodSucceeded, [][2]int64{{1, own}}, "gone", "DELETED"},
		{"a pod that has failed, with a grace period", v1.PodFailed, [][2]int64{{1, 20}}, "gone", "DELETED"},
		{"shorter, from the first on", v1.PodRunning, [][2]int64{{1, own}, {5, 10}}, "10 s until 11.000, generation 2", "MODIFIED MODIFIED"},
		{"shorter than has passed", v1.PodRunning, [][2]int64{{1, own}, {21, 10}}, "1 s until 21.000, generation 2", "MODIFIED MODIFIED"},
		{"longer", v1.PodRunning, [][2]int64{{1, own}, {5, 45}}, "30 s until 31.000, generation 2", "MODIFIED"},
		{"as long", v1.PodRunning, [][2]int64{{1, own}, {5, 30}}, "30 s until 31.000, generation 2", "MODIFIED"},
		{"once more without one", v1.PodRunning, [][2]int64{{1, 10}, {5, own}}, "10 s until 11.000, generation 2", "MODIFIED"},
		{"then force", v1.PodRunning, [][2]int64{{1, own}, {5, 0}}, "gone", "MODIFIED DELETED"},
		{"of what is gone", v1.PodRunning, [][2]int64{{1, 0}, {5, 0}}, "gone", "DELETED"},
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
				w.Delete("ns", "web", grace)
			}
			if got := w.deletion(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := w.changes(); got != c.watch {
				t.Errorf("the watch says %q, want %q", got, c.watch)
			}
		})
	}
}

// A pod that is being deleted and has come to its end meanwhile waits for the kubelet; a user's second
// delete changes nothing.
func TestSecondDeleteOfAFinishedPod(t *testing.T) {
	w := newWorld(t)
	w.create(30)
	w.Delete("ns", "web", nil)
	w.patch(v1.PodSucceeded)
	w.Delete("ns", "web", nil)
	if got := w.deletion(); got != "30 s until 30.000, generation 2" {
		t.Errorf("got %s", got)
	}
}

// A new pod is pending, and its times are whole seconds. What is handed in stays the caller's.
func TestCreate(t *testing.T) {
	w := newWorld(t)
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "ns", "web"
	pod.Status.Phase = v1.PodRunning
	w.Create(pod)
	got := w.Pod("ns", "web")
	if got.Status.Phase != v1.PodPending || got.Generation != 1 || got.CreationTimestamp.Nanosecond() != 0 {
		t.Errorf("got phase %s, generation %d, created at %v", got.Status.Phase, got.Generation, got.CreationTimestamp)
	}
	if pod.Status.Phase != v1.PodRunning || pod.Generation != 0 {
		t.Error("the pod that was handed in was changed")
	}
}

// Calls take their latency, see what is there when it is over, and never change a pod in place.
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
		"1ms get true", "3ms patch to Running true", "6ms delete true", "9ms delete true", "11ms patch false", "12ms get false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if held.Status.Phase != v1.PodPending {
		t.Error("a pod that somebody holds was changed")
	}
	if got := w.changes(); got != "ADDED MODIFIED DELETED" {
		t.Errorf("the watch says %q", got)
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

// While the server is down the kubelet's calls fail at once, one under way breaks off, and the watch is silent; a
// list says at the end what has come of the changes. Users are not concerned.
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
	w.sim.At(2*time.Millisecond, "down", func() { w.SetDown(true) })
	w.until(5 * time.Millisecond)
	w.changes()
	w.Delete("ns", "web", nil)
	w.Patch("ns", "web", []byte(`{"metadata": {"labels": {"a": "b"}}}`), 0)
	if told := w.changes(); told != "" {
		t.Errorf("the watch says %q while the server is down", told)
	}
	w.SetDown(false)
	if told := w.changes(); told != "LISTED" {
		t.Errorf("the watch says %q when the server is back", told)
	}
	w.until(time.Second)
	want := []string{"1ms get true", "2ms patch false", "2ms get false", "2ms delete false", "11ms get true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if pod := w.Pod("ns", "web"); pod.DeletionTimestamp == nil || pod.Labels["a"] != "b" || pod.Status.Phase != v1.PodPending {
		t.Errorf("the pod is %+v", pod)
	}
}

// A kubelet that starts while the server is down has no list before it is back; one that has ended is told nothing.
func TestWatchWhileDown(t *testing.T) {
	w := newWorld(t)
	w.create(30)
	w.SetDown(true)
	before := w.watch
	w.watch = w.Watch()
	if told := w.changes(); told != "" {
		t.Errorf("the new watch says %q", told)
	}
	w.SetDown(false)
	if e, ok := w.watch.TryRecv(); !ok || e.Type != apiserver.Listed || len(e.Pods) != 1 || e.Pods[0].Name != "web" {
		t.Errorf("the new watch says %+v", e)
	}
	w.watch = before
	if told := w.changes(); told != "ADDED" {
		t.Errorf("the watch from before says %q", told)
	}
}

// Observed has the containers in the order of the spec, init containers first, whatever the order of the
// statuses, and leaves out those that have none.
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
				{Name: "db", RestartCount: 2, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
				{Name: "web", Ready: true, Started: &yes, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
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
