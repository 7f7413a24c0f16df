package probetest

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"probesim.dev/trace"
)

func TestHaveBeenProbed(t *testing.T) {
	w := newWorld(t)
	app, helper := w.web.Container("app"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "at", actual: app, matcher: HaveBeenProbed(trace.Liveness).At(20*time.Second, gomega.BeNumerically("~", 55*time.Second, time.Second)), ok: true},
		{name: "not at", actual: app, matcher: HaveBeenProbed(trace.Liveness).At(20*time.Second, 21*time.Second)},
		{name: "failures", actual: w.web, matcher: HaveBeenProbed(trace.Liveness).WithResult(trace.Failure).Times(3).Between(44*time.Second, 56*time.Second), ok: true},
		{name: "more failures", actual: w.web, matcher: HaveBeenProbed(trace.Liveness).WithResult(trace.Failure).Times(5)},
		{name: "no such result", actual: w.web, matcher: HaveBeenProbed(trace.Startup).WithResult(trace.Error)},
		{name: "no such probe", actual: helper, matcher: HaveBeenProbed(trace.Liveness), err: "crash/helper has no liveness probe"},
		{name: "no such probe in the pod", actual: w.crash, matcher: HaveBeenProbed("lively"), err: "crash has no lively probe"},
		{name: "no time", actual: app, matcher: HaveBeenProbed(trace.Liveness).At("20s"), err: "a time is a time.Duration or a matcher, not a string"},
	})
}
