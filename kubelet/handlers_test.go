package kubelet

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// hookRuntime runs commands that take their time and end with a code.
type hookRuntime struct {
	instantRuntime
	took  time.Duration
	code  int32
	stops []string // when StopContainer was called, and with what grace period
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

// hookWorld has a pod with one container that has these hooks.
func hookWorld(t *testing.T, r *hookRuntime, l v1.Lifecycle) (*backOffWorld, *v1.Container) {
	w := newBackOffWorld(t)
	w.Kubelet.runtime = r
	c := &w.update.pod.Spec.Containers[0]
	c.Lifecycle = &l
	w.update.pod.Spec.TerminationGracePeriodSeconds = seconds(30)
	return w, c
}

// events returns the warnings of a run, and the Killing events.
func (w *backOffWorld) events() string {
	var list []string
	for _, r := range w.trace.Records() {
		if r.Kind == trace.Event && (r.Type == v1.EventTypeWarning || r.Reason == "Killing") {
			list = append(list, fmt.Sprintf("%v %s", r.T, r.Reason))
		}
	}
	return strings.Join(list, ", ")
}

var command = &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"drain"}}}

func sleeps(s int64) *v1.LifecycleHandler {
	return &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: s}}
}

// The whole seconds of a preStop hook count against the grace period, of which 2 s are left in any case; the hook
// is not waited for longer than that, and may fail later (killContainer and executePreStopHook in
// pkg/kubelet/kuberuntime/kuberuntime_container.go).
func TestPreStop(t *testing.T) {
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
		{"nearly all", command, 29 * time.Second, 0, 30, "29s 2 Deleted", "0s Killing"},
		{"longer", command, 40 * time.Second, 0, 30, "30s 2 Deleted", "0s Killing"},
		{"fails", command, time.Second, 1, 30, "1s 29 Deleted", "0s Killing, 1s FailedPreStopHook"},
		{"longer, and fails", command, 40 * time.Second, 1, 30, "30s 2 Deleted", "0s Killing, 40s FailedPreStopHook"},
		{"no time for it", command, time.Second, 1, 0, "0s 2 Deleted", "0s Killing"},
		{"sleep", sleeps(5), 0, 0, 30, "5s 25 Deleted", "0s Killing"},
		{"no sleep", sleeps(0), 0, 0, 30, "0s 30 Deleted", "0s Killing"},
		{"sleep that is longer", sleeps(60), 0, 0, 3, "3s 2 Deleted", "0s Killing"},
		{"a sleep that wraps around", sleeps(math.MaxInt64), 0, 0, 30, "0s 30 Deleted", "0s Killing"},
		{"a grace period that does", sleeps(5), 0, 0, math.MaxInt64, "0s 9223372036854775807 Deleted", "0s Killing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &hookRuntime{took: c.took, code: c.code}
			w, container := hookWorld(t, r, v1.Lifecycle{PreStop: c.hook})
			w.sim.Go("pod worker", func(p *sim.Proc) {
				kill := containerKill{container: fakeruntime.Container{ID: "id", Name: container.Name}, reason: killDeleted}
				w.killContainer(p, w.update.pod, kill, &c.grace, nil)
			})
			w.sim.RunUntil(time.Hour)
			if got := strings.Join(r.stops, ", "); got != c.stop || w.events() != c.events {
				t.Errorf("got  %s (%s)\nwant %s (%s)", got, w.events(), c.stop, c.events)
			}
		})
	}
}

// A hook that asks over HTTP is done when there is a response. The kubelet has it ask the pod's IP, which a pod with the
// network of the node has none of, and knows no TCP sockets (Run in pkg/kubelet/lifecycle/handlers.go).
func TestHTTPHook(t *testing.T) {
	get := &v1.HTTPGetAction{Path: "/up", Port: intstr.FromString("web"), Scheme: v1.URISchemeHTTP}
	const failed = `HTTP lifecycle hook (/up) for Container "app" in Pod "web_default(uid)" failed - error: `
	for _, c := range []struct {
		name  string
		hook  v1.LifecycleHandler
		ip    string
		reply fakeruntime.Reply
		code  int32
		want  string
	}{
		{"any response", v1.LifecycleHandler{HTTPGet: get}, "10.64.0.1", fakeruntime.Answered, 500, ""},
		{"refused", v1.LifecycleHandler{HTTPGet: get}, "10.64.0.1", fakeruntime.Refused, 0,
			failed + `Get "http://10.64.0.1:80/up": dial tcp 10.64.0.1:80: connect: connection refused`},
		{"no IP", v1.LifecycleHandler{HTTPGet: get}, "", fakeruntime.Answered, 200, failed + "failed to find networking container"},
		{"no such port", v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Path: "/up", Port: intstr.FromString("x")}}, "10.64.0.1",
			fakeruntime.Answered, 200, failed + `port "x" not found`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &httpHookRuntime{ip: c.ip, reply: c.reply, answer: fakeruntime.Answer{Word: fakeruntime.Answers, Code: c.code}}
			w := newBackOffWorld(t)
			w.Kubelet.runtime = r
			w.update.pod.Name, w.update.pod.Namespace = "web", "default"
			container := &w.update.pod.Spec.Containers[0]
			container.Ports = []v1.ContainerPort{{Name: "web", ContainerPort: 80}}
			w.sim.Go("pod worker", func(p *sim.Proc) {
				if got := w.runHandler(p, hookRun{w.update.pod, container, "id", preStop, &c.hook}); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
			w.sim.RunUntil(time.Hour)
		})
	}
}

// httpHookRuntime has a pod with an IP and a program that is asked over HTTP.
type httpHookRuntime struct {
	instantRuntime
	ip     string
	reply  fakeruntime.Reply
	answer fakeruntime.Answer
}

func (r *httpHookRuntime) Call(p *sim.Proc, c fakeruntime.Call) *fakeruntime.Op {
	op := r.instantRuntime.Call(p, c)
	switch c.Method {
	case fakeruntime.ListPodSandbox, fakeruntime.PodSandboxStatus:
		op.Sandboxes = []fakeruntime.Sandbox{{ID: "s", PodUID: "uid", Ready: true, IP: r.ip}}
	case fakeruntime.HTTPGet:
		op.Reply, op.Answer = r.reply, &r.answer
	}
	return op
}

// A container whose postStart hook fails is killed, with its preStop hook, and waits to be started again; the
// sync waits for the hook (startContainer in kuberuntime_container.go).
func TestPostStart(t *testing.T) {
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
			var ended time.Duration
			w.sim.Go("pod worker", func(p *sim.Proc) {
				w.startOrBackOff(p, w.update, &w.update.pod.Spec.Containers[0], &podStatus{}, "sandbox", &did)
				ended = p.Now()
			})
			w.sim.RunUntil(time.Hour)
			if got := strings.Join(r.stops, ", "); got != c.stops || w.events() != c.events {
				t.Errorf("got  %q (%s)\nwant %q (%s)", got, w.events(), c.stops, c.events)
			}
			if reason := w.reasons[containerKey{"uid", "app"}]; reason.reason != c.waiting || did.err != (c.code != 0) {
				t.Errorf("reason %+v, error %v", reason, did.err)
			}
			if ended < 3*time.Second {
				t.Errorf("the sync did not wait: %v", ended)
			}
		})
	}
}
