package kubelet

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// An HTTP hook succeeds with any response. The kubelet sends the request to the IP address of the
// pod, and a pod in the network of the host has none. TCP sockets in hooks fail (Run in
// pkg/kubelet/lifecycle/handlers.go at v1.37.0).
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
		{"no IP", v1.LifecycleHandler{HTTPGet: get}, "", fakeruntime.Answered, 200,
			failed + "failed to find networking container"},
		{"no such port", v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Path: "/up", Port: intstr.FromString("x")}},
			"10.64.0.1",
			fakeruntime.Answered, 200, failed + `port "x" not found`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &httpHookRuntime{ip: c.ip, reply: c.reply,
				answer: fakeruntime.Answer{Word: fakeruntime.Answers, Code: c.code}}
			w := newBackOffWorld(t)
			w.Kubelet.runtime = newCRIClient(&Options{Sim: w.sim, Runtime: r})
			w.update.pod.Name, w.update.pod.Namespace = "web", "default"
			container := &w.update.pod.Spec.Containers[0]
			container.Ports = []v1.ContainerPort{{Name: "web", ContainerPort: 80}}
			w.sim.Go("pod worker", func(p *sim.Proc) {
				if got := w.runHandler(p, hookRun{w.update.pod, container, "id", preStop, &c.hook}); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
			w.sim.RunUntil(virtual.At(time.Hour))
		})
	}
}

// httpHookRuntime is the runtime of a pod with an IP address and a program that answers over HTTP.
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
