package kubelet

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// A container has the grace period of the deletion, otherwise of the failed probe, otherwise of the
// pod (setTerminationGracePeriod in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func TestTerminationGracePeriod(t *testing.T) {
	for _, c := range []struct {
		name                    string
		reason                  killReason
		deletion, spec          *int64
		liveness, startup, want int64 // 0: the probe has none
	}{
		{"pod", killStopped, nil, seconds(30), 5, 6, 30},
		{"liveness", killLivenessProbe, nil, seconds(30), 5, 6, 5},
		{"startup", killStartupProbe, nil, seconds(30), 5, 6, 6},
		{"longer than the pod's", killLivenessProbe, nil, seconds(30), 300, 0, 300},
		{"liveness without its own", killLivenessProbe, nil, seconds(30), 0, 6, 30},
		{"startup without its own", killStartupProbe, nil, seconds(30), 5, 0, 30},
		{"deletion", killLivenessProbe, seconds(10), seconds(30), 5, 6, 10},
		{"immediate deletion", killDeleted, seconds(0), seconds(30), 5, 6, 0},
		{"pod without a grace period", killLivenessProbe, nil, nil, 5, 6, minimumGracePeriod},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := v1.Container{Name: "app", LivenessProbe: probeWith(c.liveness), StartupProbe: probeWith(c.startup)}
			pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "other", LivenessProbe: probeWith(99)},
				app}}}
			pod.DeletionGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds = c.deletion, c.spec
			kill := containerKill{container: fakeruntime.Container{Name: "app"}, reason: c.reason}
			if got := terminationGracePeriod(pod, kill); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// The init containers in the sandbox determine the actions of a sync. The notation of a container
// is NAME STATE; a - marks a container of another sandbox (computeInitContainerActions in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func TestComputeInitContainerActions(t *testing.T) {
	const always, onFailure, never = v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever
	for _, c := range []struct {
		policy     v1.RestartPolicy
		init       string
		containers string
		want       string
	}{
		{always, "a b", "", "start a"},
		{always, "a b", "a created", "start a"},
		{always, "a b", "a running", "nothing"},
		{always, "a b", "a exit 0", "start b"},
		{always, "a b", "a exit 1", "start a"},
		{onFailure, "a b", "a exit 1", "start a"},
		{never, "a b", "a exit 1", "kill the pod"},
		{always, "a b", "a exit 0, b running", "nothing"},
		{never, "a b", "a exit 0, b exit 0", "start app"},
		{always, "a b", "b exit 0", "start app"}, // a was removed after it completed
		{always, "a b", "a exit 0, b exit 0, app running", "nothing"},
		{always, "a b", "app exit 1", "start app"},
		{always, "a b", "-app exit 1", "start a"}, // of another sandbox

		{always, "a* b", "a running", "start b"},
		{always, "a* b", "a exit 1", "start a"},
		{never, "a* b", "a exit 0", "start a"},
		{always, "a* b", "a exit 1, b running", "start a"},
		{always, "a* b", "b running", "start a"}, // a was removed
		{always, "a* b*", "a running, b exit 0", "start b"},
		{always, "a* b*", "a running, b running", "start app"},
		{always, "a*", "a exit 1, app running", "start a"},
		{never, "a*", "a running, app exit 0", "kill the pod"},
		{never, "a*", "a exit 1, app exit 0", "kill the pod"},

		{always, "a+ b", "a running", "nothing"},
		{always, "a+ b", "a running startup=Unknown", "nothing"},
		{always, "a+ b", "a running startup=Success", "start b"},
		{always, "a+ b", "a running startup=Failure",
			"kill a for StartupProbe (Init container a failed startup probe), start a"},
		{always, "a+ b", "a running startup=Success liveness=Failure",
			"kill a for LivenessProbe (Init container a failed liveness probe), start a b"},
		{always, "a+ b", "a running startup=Unknown liveness=Failure", "nothing"},
		{never, "a+", "a running startup=Failure, app running",
			"kill a for StartupProbe (Init container a failed startup probe), start a"},
		{always, "a* b+", "a exit 1, b running startup=Failure",
			"kill b for StartupProbe (Init container b failed startup probe), start a b"},
	} {
		t.Run(fmt.Sprint(c.policy, ", ", c.init, ", ", c.containers), func(t *testing.T) {
			w := newBackOffWorld(t)
			s := &podStatus{sandboxes: []fakeruntime.Sandbox{{ID: "s", Ready: true}}}
			for part := range strings.SplitSeq(c.containers, ", ") {
				name, words, ok := strings.Cut(part, " ")
				if !ok {
					continue
				}
				w.addContainer(s, strings.TrimPrefix(name, "-"), words)
				if strings.HasPrefix(name, "-") {
					s.containers[len(s.containers)-1].SandboxID = "gone"
				}
			}
			if got := w.computePodActions(podWithInit(c.policy, c.init), s, false).text(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Before 1.37, a pod is initialized only while a regular container runs. When all regular
// containers have crashed, they wait until a crashed sidecar has restarted.
func TestInitializedBefore137(t *testing.T) {
	for containers, want := range map[string][2]string{
		"a running, app exit 1":  {"nothing", "start app"},
		"a exit 1, app exit 1":   {"start a", "start a app"},
		"a exit 1, app running":  {"start a", "start a"},
		"a exit 1, app created":  {"start a app", "start a app"},
		"a running, app running": {"nothing", "nothing"},
	} {
		for i, initializedBySandbox := range []bool{false, true} {
			w := newBackOffWorld(t)
			w.profile.InitializedBySandbox = initializedBySandbox
			s := &podStatus{sandboxes: []fakeruntime.Sandbox{{ID: "s", Ready: true}}}
			for part := range strings.SplitSeq(containers, ", ") {
				name, words, _ := strings.Cut(part, " ")
				w.addContainer(s, name, words)
			}
			if got := w.computePodActions(podWithInit(v1.RestartPolicyAlways, "a+"), s, false).text(); got != want[i] {
				t.Errorf("%s, InitializedBySandbox %v: got %s, want %s", containers, initializedBySandbox, got, want[i])
			}
		}
	}
}

// A new sandbox starts with the first init container, unless all containers have completed.
func TestNewSandboxWithInitContainers(t *testing.T) {
	for app, want := range map[string]string{
		"exit 1": "kill the pod, create sandbox 1, start a",
		"exit 0": "kill the pod",
	} {
		w := newBackOffWorld(t)
		s := &podStatus{sandboxes: []fakeruntime.Sandbox{{ID: "s"}}}
		w.addContainer(s, "a", "exit 0")
		w.addContainer(s, "app", app)
		if got := w.computePodActions(podWithInit(v1.RestartPolicyOnFailure, "a b"), s, false).text(); got != want {
			t.Errorf("app %s: got %s, want %s", app, got, want)
		}
	}
}

// hookRuntime runs commands that take some time and end with an exit code.
type hookRuntime struct {
	instantRuntime
	took  time.Duration
	code  int32
	stops []string // time, grace period and reason of each call of StopContainer
}

func (r *hookRuntime) Call(p *sim.Proc, c fakeruntime.Call) *fakeruntime.Op {
	op := r.instantRuntime.Call(p, c)
	switch c.Method {
	case fakeruntime.ExecSync:
		p.Sleep(r.took)
		op.ExitCode = r.code
	case fakeruntime.StopContainer:
		r.stops = append(r.stops, fmt.Sprint(p.Now(), " ", c.GraceSeconds, " ", c.StopReason))
	}
	return op
}

// hookWorld has a pod whose only container has these hooks.
func hookWorld(t *testing.T, r *hookRuntime, l v1.Lifecycle) (*backOffWorld, *v1.Container) {
	w := newBackOffWorld(t)
	w.Kubelet.runtime = newCRIClient(&Options{Sim: w.sim, Runtime: r})
	c := &w.update.pod.Spec.Containers[0]
	c.Lifecycle = &l
	w.update.pod.Spec.TerminationGracePeriodSeconds = seconds(30)
	return w, c
}

var command = &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"drain"}}}

func sleeps(s int64) *v1.LifecycleHandler {
	return &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: s}}
}

// The whole seconds of a preStop hook count toward the grace period, of which at least 2 s remain.
// The kubelet stops waiting for the hook at the end of the grace period, and the hook can still
// fail later (killContainer and executePreStopHook in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func TestExecutePreStopHook(t *testing.T) {
	for _, c := range []struct {
		name   string
		hook   *v1.LifecycleHandler
		took   time.Duration
		code   int32
		grace  int64
		stop   string
		events string
	}{
		{"less than a second", command, 900 * time.Millisecond, 0, 30, "900ms 30 Deleted", "0s Killing"},
		{"whole seconds", command, 4900 * time.Millisecond, 0, 30, "4.9s 26 Deleted", "0s Killing"},
		{"most of the grace period", command, 29 * time.Second, 0, 30, "29s 2 Deleted", "0s Killing"},
		{"longer", command, 40 * time.Second, 0, 30, "30s 2 Deleted", "0s Killing"},
		{"fails", command, time.Second, 1, 30, "1s 29 Deleted", "0s Killing, 1s FailedPreStopHook"},
		{"longer than the grace period, then fails", command, 40 * time.Second, 1, 30, "30s 2 Deleted",
			"0s Killing, 40s FailedPreStopHook"},
		{"no grace period", command, time.Second, 1, 0, "0s 2 Deleted", "0s Killing"},
		{"sleep", sleeps(5), 0, 0, 30, "5s 25 Deleted", "0s Killing"},
		{"sleep of 0 s", sleeps(0), 0, 0, 30, "0s 30 Deleted", "0s Killing"},
		{"sleep longer than the grace period", sleeps(60), 0, 0, 3, "3s 2 Deleted", "0s Killing"},
		{"sleep that overflows", sleeps(math.MaxInt64), 0, 0, 30, "0s 30 Deleted", "0s Killing"},
		{"grace period that overflows", sleeps(5), 0, 0, math.MaxInt64, "0s 9223372036854775807 Deleted", "0s Killing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &hookRuntime{took: c.took, code: c.code}
			w, container := hookWorld(t, r, v1.Lifecycle{PreStop: c.hook})
			w.sim.Go("pod worker", func(p *sim.Proc) {
				kill := containerKill{container: fakeruntime.Container{ID: "id", Name: container.Name},
					reason: killDeleted}
				w.killContainer(p, w.update.pod, kill, &c.grace, nil)
			})
			w.sim.RunUntil(virtual.At(time.Hour))
			if got := strings.Join(r.stops, ", "); got != c.stop || w.events() != c.events {
				t.Errorf("got  %s (%s)\nwant %s (%s)", got, w.events(), c.stop, c.events)
			}
		})
	}
}

// A container whose postStart hook fails is killed, including its preStop hook, and waits for its
// restart. The sync waits for the hook (startContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func TestPostStartHook(t *testing.T) {
	for _, c := range []struct {
		name           string
		hook           *v1.LifecycleHandler
		code           int32
		stops, waiting string
		events         string
	}{
		{"succeeds", command, 0, "", "", ""},
		{"sleep", sleeps(3), 0, "", "", ""},
		{"fails", command, 7, "6s 27 FailedPostStartHook", postStartHookError, "3s FailedPostStartHook, 3s Killing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &hookRuntime{took: 3 * time.Second, code: c.code}
			w, _ := hookWorld(t, r, v1.Lifecycle{PostStart: c.hook, PreStop: sleeps(3)})
			var did syncResult
			var ended virtual.Time
			w.sim.Go("pod worker", func(p *sim.Proc) {
				w.startOrBackOff(p, w.update, &w.update.pod.Spec.Containers[0], &podStatus{},
					&podActions{sandboxID: "sandbox"}, &did)
				ended = p.Now()
			})
			w.sim.RunUntil(virtual.At(time.Hour))
			if got := strings.Join(r.stops, ", "); got != c.stops || w.events() != c.events {
				t.Errorf("got  %q (%s)\nwant %q (%s)", got, w.events(), c.stops, c.events)
			}
			if reason := w.reasons[containerKey{"uid", "app"}]; reason.reason != c.waiting || did.err != (c.code != 0) {
				t.Errorf("reason %+v, error %v", reason, did.err)
			}
			if ended < virtual.At(3*time.Second) {
				t.Errorf("the sync did not wait for the hook: %v", ended)
			}
		})
	}
}
