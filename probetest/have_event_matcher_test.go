package probetest

import (
	"testing"

	"github.com/onsi/gomega"

	v1 "k8s.io/api/core/v1"
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
