package prober

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/kube/profile"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// The expansion follows ExpandContainerCommandOnlyStatic (pkg/kubelet/container/helpers.go) and
// third_party/forked/golang/expansion.
func TestExpandCommand(t *testing.T) {
	env := []v1.EnvVar{
		{Name: "PORT", Value: "80"}, {Name: "EMPTY"}, {Name: "PORT2", Value: "$(PORT)"},
		{Name: "POD_IP", ValueFrom: &v1.EnvVarSource{}}, {Name: "TWICE", Value: "1"}, {Name: "TWICE", Value: "2"},
	}
	for arg, want := range map[string]string{
		"":                   "",
		"plain":              "plain",
		"$(PORT)":            "80",
		"a$(PORT)b$(PORT)c":  "a80b80c",
		"$(PORT2)":           "$(PORT)", // a value is not expanded again
		"$(TWICE)":           "2",
		"[$(EMPTY)]":         "[]",
		"[$(POD_IP)]":        "[]", // from another source
		"$(UNKNOWN)":         "$(UNKNOWN)",
		"$()":                "$()",
		"$$(PORT)":           "$(PORT)",
		"$$$(PORT)":          "$80",
		"$PORT ${PORT} `id`": "$PORT ${PORT} `id`",
		"$(PORT":             "$(PORT",
		"$(UN(PORT)":         "$(UN(PORT)",
		"a$":                 "a$",
		"$$":                 "$",
		"$ü(PORT)":           "$ü(PORT)",
	} {
		if got := expandCommand([]string{arg}, env)[0]; got != want {
			t.Errorf("%q expands to %q, want %q", arg, got, want)
		}
	}
	if got := expandCommand([]string{"sh", "-c", "check $(PORT)"}, env); !slices.Equal(got,
		[]string{"sh", "-c", "check 80"}) {
		t.Errorf("got %q", got)
	}
}

// The kubelet reads up to 10 KiB of a command's output (pkg/probe/exec/exec.go).
func TestExecOutputIsTruncated(t *testing.T) {
	text := strings.Repeat("x", 10<<10)
	for _, o := range []Output{{Text: text}, {Text: text + "y"}, {Text: text + "y", ExitCode: 7}} {
		if v := execOutcome(o); v.message != text {
			t.Errorf("an output of %d bytes with exit code %d is truncated to %d bytes, want 10240", len(o.Text),
				o.ExitCode, len(v.message))
		}
	}
}

// The runner receives the container's ID, the expanded command and the probe's timeout. Its memo
// survives until there is a new container.
func TestCommandOfTheRunner(t *testing.T) {
	pod := podWith(&v1.Probe{TimeoutSeconds: 7, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 1})
	pod.Spec.Containers[0].Env = []v1.EnvVar{{Name: "PORT", Value: "80"}}
	pod.Spec.Containers[0].ReadinessProbe.Exec = &v1.ExecAction{Command: []string{"check", "$(PORT)"}}
	w := newWorld(worldOptions{t: t, pod: pod, uptime: time.Hour, profile: profile.Newest()})
	defer w.sim.Close()
	var got []Command
	var memos []any
	w.manager.Runner = runner(func(_ *sim.Proc, c Command) Output {
		memos = append(memos, *c.Memo)
		*c.Memo, c.Memo = "ran in "+c.ContainerID, nil
		got = append(got, c)
		return Output{}
	})
	w.setContainer("app", "running", []string{"c1", "started"})
	w.manager.ReconcilePod(nil, pod)
	w.runUntil(10 * time.Second)
	w.setContainer("app", "running", []string{"c2", "started"})
	w.runUntil(20 * time.Second)
	c1 := Command{PodUID: "uid", ContainerID: "c1", Probe: trace.Readiness, Args: []string{"check", "80"},
		Timeout: 7 * time.Second}
	c2 := c1
	c2.ContainerID = "c2"
	if diff := cmp.Diff([]Command{c1, c1, c2}, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if want := []any{nil, "ran in c1", nil}; !slices.Equal(memos, want) {
		t.Errorf("memos %v, want %v", memos, want)
	}
}

type runner func(*sim.Proc, Command) Output

func (r runner) RunInContainer(p *sim.Proc, c Command) Output { return r(p, c) }

// podWith returns a pod whose one container has a readiness probe.
func podWith(p *v1.Probe) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "ns", "web", "uid"
	pod.Spec.Containers = []v1.Container{{Name: "app", ReadinessProbe: p}}
	return pod
}

// A probe without a known handler is an error of the probe and has no result.
func TestMissingHandler(t *testing.T) {
	pod := podWith(&v1.Probe{PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 1})
	w := newWorld(worldOptions{t: t, pod: pod, uptime: time.Hour, profile: profile.Newest()})
	defer w.sim.Close()
	w.setContainer("app", "running", []string{"c1", "started"})
	w.manager.ReconcilePod(nil, pod)
	w.runUntil(0)
	want := `0s     readiness probe of app: error "missing probe handler"
0s     event Warning Unhealthy about app: Readiness probe errored and resulted in unknown state: missing probe handler
0s     readiness of c1 is Failure
`
	if got := w.out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// CleanupPods stops the workers of the pods that the caller does not keep.
func TestCleanupPods(t *testing.T) {
	w := newWorld(worldOptions{t: t, uptime: time.Hour, profile: profile.Newest()})
	defer w.sim.Close()
	for _, name := range []string{"b", "a", "kept"} {
		pod := podWith(&v1.Probe{PeriodSeconds: 10})
		pod.Name, pod.UID = name, types.UID(name)
		w.manager.ReconcilePod(nil, pod)
	}
	var ended []string
	w.manager.Status = getter(func(uid types.UID) { ended = append(ended, string(uid)) })
	w.runUntil(time.Minute)
	w.manager.CleanupPods(nil, func(uid types.UID) bool { return uid == "kept" })
	ended = nil
	w.runUntil(2 * time.Minute)
	slices.Sort(ended)
	if got := slices.Compact(ended); !slices.Equal(got, []string{"kept"}) || len(w.manager.workers) != 1 {
		t.Errorf("after the clean-up the workers look up the pods %v, and %d workers are left; want [kept] and 1", got,
			len(w.manager.workers))
	}
}

// getter has no statuses and reports each pod that a worker looks up.
type getter func(types.UID)

func (g getter) Snapshot(uid types.UID) (*status.Snapshot, bool) {
	g(uid)
	return nil, false
}

// The record of a probe run names its cause, the instance of the container and the duration. The
// result that follows has the record as its cause.
func TestProbeRecord(t *testing.T) {
	pod := podWith(&v1.Probe{PeriodSeconds: 60, SuccessThreshold: 1, FailureThreshold: 1})
	pod.Spec.Containers[0].ReadinessProbe.Exec = &v1.ExecAction{}
	w := newWorld(worldOptions{t: t, pod: pod, uptime: time.Hour, profile: profile.Newest()})
	defer w.sim.Close()
	w.setContainer("app", "running", []string{"c1", "started"})
	w.answers["readiness"] = []string{"fail", "ok/2s"}
	var runs, triggers, changes []trace.Record
	w.manager.Trace.Observe(func(r *trace.Record) {
		list := map[trace.Kind]*[]trace.Record{
			trace.ProbeExecuted: &runs, trace.ManualTrigger: &triggers, trace.ResultChanged: &changes,
		}[r.Kind]
		if list != nil {
			*list = append(*list, *r)
		}
	})
	w.manager.ReconcilePod(nil, pod)
	w.sim.At(virtual.At(10*time.Second), "sync", w.syncPod)
	w.runUntil(time.Minute)
	want := []trace.Record{
		{
			Kind: trace.ProbeExecuted, Pod: "ns/web", Container: "app", Instance: 3, Probe: trace.Readiness,
			Result: trace.Failure, Message: "broken",
		},
		{
			T: virtual.At(12 * time.Second), Kind: trace.ProbeExecuted, Pod: "ns/web", Container: "app", Instance: 3,
			Probe:  trace.Readiness,
			Result: trace.Success, Message: "fine", Took: 2 * time.Second,
		},
	}
	want[0].Step, want[1].Step = runs[0].Step, runs[1].Step
	want[1].Cause = triggers[0].Step
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if last := changes[len(changes)-1]; last.Message != "Success" || last.Cause != runs[1].Step {
		t.Errorf("the last change is %+v, want a success caused by step %d", last, runs[1].Step)
	}
}

// A worker that ends stops its ticker.
func TestStoppedWorkerHasNoEvents(t *testing.T) {
	pod := podWith(&v1.Probe{PeriodSeconds: 1})
	w := newWorld(worldOptions{t: t, pod: pod, uptime: time.Hour, profile: profile.Newest()})
	defer w.sim.Close()
	w.manager.ReconcilePod(nil, pod)
	w.runUntil(time.Minute)
	w.manager.RemovePod(nil, pod)
	w.runUntil(2 * time.Minute)
	before := w.sim.Events()
	w.runUntil(time.Hour)
	if n := w.sim.Events() - before; n > 0 {
		t.Errorf("%d events after the only worker has ended, want none", n)
	}
}

// A terminated container is neither started nor ready, whatever its results.
func TestTerminatedContainerIsNotReady(t *testing.T) {
	pod := podWith(&v1.Probe{PeriodSeconds: 10})
	w := newWorld(worldOptions{t: t, pod: pod, uptime: time.Hour, profile: profile.Newest()})
	defer w.sim.Close()
	w.sim.Go("p", func(p *sim.Proc) {
		w.manager.Results.Readiness.Set(p, results.Subject{},
			results.Update{ContainerID: "c1", Result: results.Success})
		w.setContainer("app", "exited", []string{"c1", "0"})
		w.status.ContainerStatuses[0].Started = new(bool)
		*w.status.ContainerStatuses[0].Started = true
		w.manager.UpdatePodStatus(p, pod, &w.status)
	})
	w.runUntil(0)
	if c := w.status.ContainerStatuses[0]; *c.Started || c.Ready {
		t.Errorf("a terminated container has started=%v ready=%v, want false and false", *c.Started, c.Ready)
	}
}
