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
		{name: "no time", actual: app, matcher: HaveBeenProbed(trace.Liveness).At("20s"), err: "a time is a time.Duration or a matcher, not a value of type string"},
		{name: "a time to come", actual: app, matcher: HaveBeenProbed(trace.Liveness).At(time.Hour), err: "the run has only reached 120.000s, which is less than 1h00m00.000s after the pod was added: call Advance first"},
		{name: "a result that no probe has", actual: app, matcher: HaveBeenProbed(trace.Liveness).WithResult("sucess"), err: `a probe never has the result "sucess" (did you mean "success"?)`},
	})
}
