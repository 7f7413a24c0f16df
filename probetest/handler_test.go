package probetest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/sim/virtual"
)

// lastNode is the last node of handled, for its handler.
var lastNode *Node

// handled adds a pod whose probes the handler answers, and lets a minute pass. It returns the
// failures of the test.
func handled(t *testing.T, o NodeOptions, handler http.HandlerFunc) (*Pod, []string) {
	t.Helper()
	get := func(path string) *v1.Probe {
		return &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path,
			Port: intstr.FromInt32(80), Scheme: v1.URISchemeHTTPS}}}
	}
	fake := newFakeT(t)
	n := NewNode(fake, o)
	lastNode = n
	p := n.AddPod(pod("web", v1.Container{Name: "app", Image: "a", LivenessProbe: get("/live?full=1"),
		ReadinessProbe: get("/ready")}),
		Behavior{"app": {{Handler: handler}}})
	n.Advance(time.Minute)
	return p, fake.failures
}

// dereference panics, as a bug in a handler does.
func dereference(p *int) int { return *p }

func TestHandlerPanics(t *testing.T) {
	requests := 0
	p, failures := handled(t, NodeOptions{}, func(_ http.ResponseWriter, r *http.Request) {
		if requests++; r.URL.Path == "/live" {
			dereference(nil)
		}
	})
	if len(failures) != 1 {
		t.Fatalf("failed %d times: %q", len(failures), failures)
	}
	for _, want := range []string{
		"the handler of the container web/app panicked: runtime error: invalid memory address or nil pointer " +
			"dereference\n",
		"The request is from its liveness probe at 10.009s of virtual time: GET https://10.64.0.1:80/live?full=1\n\n",
		"    probesim.dev/probetest.dereference\n", "/probetest/handler_test.go:",
		"    probesim.dev/probetest.TestHandlerPanics.func1\n",
	} {
		if !strings.Contains(failures[0], want) {
			t.Errorf("the failure does not contain %q:\n%s", want, failures[0])
		}
	}
	for _, inside := range []string{"watchdog)", "probesim.dev/sim", "runtime.gopanic", "iter.Pull", "kubelet"} {
		if strings.Contains(failures[0], inside) {
			t.Errorf("the failure contains %q, which does not belong to the handler:\n%s", inside, failures[0])
		}
	}
	if end := p.node.sim.Now(); end != virtual.At(10009*time.Millisecond) || requests > 3 {
		t.Errorf("the run ended at %s after %d requests, not when the handler panicked", end, requests)
	}
}

// TestHandlerPanicsTwice checks the failure of a handler that panics again while it handles a
// panic: it reports the last panic, as a Go program does.
func TestHandlerPanicsTwice(t *testing.T) {
	_, failures := handled(t, NodeOptions{}, func(http.ResponseWriter, *http.Request) {
		defer func() { panic("second") }()
		panic("first")
	})
	if len(failures) != 1 || !strings.Contains(failures[0], "panicked: second\n") ||
		!strings.Contains(failures[0], "TestHandlerPanicsTwice.func1") {
		t.Errorf("failed with %q", failures)
	}
}

// hang blocks until the test ends.
func hang(until chan struct{}) { <-until }

func TestHandlerHangs(t *testing.T) {
	until := make(chan struct{})
	defer close(until)
	p, failures := handled(t, NodeOptions{HandlerTimeout: 20 * time.Millisecond},
		func(http.ResponseWriter, *http.Request) { hang(until) })
	if len(failures) != 1 {
		t.Fatalf("failed %d times: %q", len(failures), failures)
	}
	for _, want := range []string{
		"the handler of the container web/app did not respond within 20ms of real time.\n",
		"The request is from its readiness probe at 0.", " of virtual time: GET https://10.64.0.1:80/ready\n",
		"set HandlerTimeout in the options", "[chan receive]:\n", "probesim.dev/probetest.hang(",
		"/probetest/handler_test.go:",
	} {
		if !strings.Contains(failures[0], want) {
			t.Errorf("the failure does not contain %q:\n%s", want, failures[0])
		}
	}
	if strings.Contains(failures[0], "watchdog)") {
		t.Errorf("the failure contains frames of the watchdog:\n%s", failures[0])
	}
	if end := p.node.sim.Now(); end >= virtual.At(time.Second) {
		t.Errorf("the run continued until %s", end)
	}
}

// TestHandlerTimeoutOff checks that a negative timeout lets a handler take any time, as it does at
// a breakpoint.
func TestHandlerTimeoutOff(t *testing.T) {
	slow := true
	_, failures := handled(t, NodeOptions{HandlerTimeout: -1}, func(http.ResponseWriter, *http.Request) {
		if slow {
			slow = false
			time.Sleep(10 * time.Millisecond)
		}
	})
	if slow || len(failures) > 0 {
		t.Errorf("called: %t; failures: %q", !slow, failures)
	}
}

// TestHandlerFailsTest checks that a handler that fails the test ends the run.
func TestHandlerFailsTest(t *testing.T) {
	fake := newFakeT(t)
	_, failures := handled(t, NodeOptions{}, func(http.ResponseWriter, *http.Request) { fake.FailGoroutine() })
	if len(failures) != 1 || !strings.HasPrefix(failures[0],
		"the handler of the container web/app ended its goroutine, as t.FailNow and t.Fatal do.\nThe request is from "+
			"its readiness probe at ") {
		t.Errorf("failed with %q", failures)
	}
}

// TestHandlerAborts checks that http.ErrAbortHandler closes the connection, as in a server of
// net/http.
func TestHandlerAborts(t *testing.T) {
	p, failures := handled(t, NodeOptions{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if len(failures) > 0 {
		t.Errorf("failed with %q", failures)
	}
	gomega.NewWithT(t).Expect(p).To(HaveEvent("Unhealthy").WithMessage(gomega.HaveSuffix(": EOF")))
}

// TestHandlerRunsRepeat checks that two runs with the same handler produce the same records,
// although each request runs on its own goroutine.
func TestHandlerRunsRepeat(t *testing.T) {
	run := func() []string {
		requests := 0
		p, _ := handled(t, NodeOptions{Seed: new(int64(3))}, func(w http.ResponseWriter, _ *http.Request) {
			if requests++; requests%3 == 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		var lines []string
		for _, r := range p.Records() {
			lines = append(lines, r.Summary())
		}
		return lines
	}
	first := run()
	for range 5 {
		gomega.NewWithT(t).Expect(run()).To(gomega.Equal(first))
	}
}

// TestWindowsAndAgents checks rules in text: exits inside a window, and an endpoint that another
// container answers.
func TestWindowsAndAgents(t *testing.T) {
	g := gomega.NewWithT(t)
	get := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/live", Port: intstr.FromInt32(80)}}
	meshed := pod("web", v1.Container{Name: "app", Image: "a",
		ReadinessProbe: &v1.Probe{ProbeHandler: get, PeriodSeconds: 1}}, v1.Container{Name: "agent", Image: "a"})
	by := Rule{Endpoints: map[string]string{"http:80/live": "{answeredBy: agent}"}}
	n := NewNode(t, NodeOptions{})
	web := n.AddPod(meshed, Behavior{"app": {by}, "agent": {{For: "10s", Probes: "down"}}})
	job := n.AddPod(pod("job", v1.Container{Name: "app", Image: "a"}),
		Behavior{"app": {{At: "5s", For: "20s", Exit: "3"}}})
	n.Advance(2 * time.Minute)
	g.Expect(web).To(HaveBecomeReady().Times(1).Between(10*time.Second, 13*time.Second))
	g.Expect(job).To(HaveRestarted().Times(3)) // at 5 s, at once, after 10 s; the next start is later than 25 s
	if got, want := by.String(), "{endpoints: {http:80/live: {answeredBy: agent}}}"; got != want {
		t.Errorf("the rule prints as %s, want %s", got, want)
	}
}
