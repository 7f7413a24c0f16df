package probetest

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

func TestHaveEvent(t *testing.T) {
	w := newWorld(t)
	app, worker, helper := w.web.Container("app"), w.crash.Container("worker"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "reason", actual: app, matcher: HaveEvent("Killing").Times(1), ok: true},
		{name: "type", actual: w.web, matcher: HaveEvent("Unhealthy").OfType(v1.EventTypeWarning).AtLeast(5), ok: true},
		{name: "other type", actual: w.crash, matcher: HaveEvent("BackOff").OfType(v1.EventTypeNormal)},
		{name: "message", actual: app,
			matcher: HaveEvent("Killing").WithMessage("Container app failed liveness probe, will be restarted"),
			ok:      true},
		{name: "other message", actual: app, matcher: HaveEvent("Killing").WithMessage("Container app failed")},
		{name: "message matcher", actual: app,
			matcher: HaveEvent("Unhealthy").WithMessage(gomega.HavePrefix("Liveness probe failed")).Times(2)},
		{name: "reason that did not occur", actual: worker, matcher: HaveEvent("Killing")},
		{name: "container without probes", actual: worker, matcher: HaveEvent("Unhealthy"),
			err: "crash/worker has no probe, and only probes cause events with the reason Unhealthy"},
		{name: "reason of pods", actual: worker, matcher: HaveEvent("Evicted"),
			err: "an event with the reason Evicted is about a pod, and never about a container: assert about the pod"},
		{name: "other container", actual: helper, matcher: HaveEvent("BackOff")},
		{name: "unknown reason", actual: app, matcher: HaveEvent("Unhealty"),
			err: "the kubelet emits no event with the reason \"Unhealty\" (did you mean \"Unhealthy\"?)"},
		{name: "message of the wrong type", actual: helper, matcher: HaveEvent("Pulled").WithMessage(3),
			err: "a message is a string or a matcher, not a value of type int"},
		{name: "unknown type", actual: helper, matcher: HaveEvent("Pulled").OfType("Warn"),
			err: `events have the type Normal or Warning, and never "Warn"`},
	})
}

// TestNearMisses checks how many near misses a message lists, and how long they are.
func TestNearMisses(t *testing.T) {
	web := pod("web", v1.Container{Name: "app", Image: "a", ReadinessProbe: probe()})
	n := NewNode(t, NodeOptions{})
	p := n.AddPod(web, Behavior{"app": {{Readiness: "[1, 2, 3, 4, 5]"}}})
	n.Advance(30 * time.Second)
	m := HaveBeenProbed(trace.Readiness).WithResult(trace.Error)
	if ok, err := m.Match(p); ok || err != nil || !strings.Contains(m.FailureMessage(p), "\nIt did not. Near misses: "+
		"the result failure at 0.310s, 0.478s, 5.478s, 10.478s, 15.478s, 20.478s, and 1 more.\n") {
		t.Errorf("%t, %v: %s", ok, err, m.FailureMessage(p))
	}
	var list []occurrence
	for i := range 5 {
		list = append(list, occurrence{t: virtual.At(time.Duration(i) * time.Second), text: strings.Repeat("x", i+1)})
	}
	want := ". Near misses: x at 0.000s; xx at 1.000s; xxx at 2.000s; and 2 other kinds"
	if got := nearMisses(list); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
