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
		{name: "at times", actual: app,
			matcher: HaveBeenProbed(trace.Liveness).
				At(20*time.Second, gomega.BeNumerically("~", 55*time.Second, time.Second)), ok: true},
		{name: "missing time", actual: app, matcher: HaveBeenProbed(trace.Liveness).At(20*time.Second, 21*time.Second)},
		{name: "number of failures", actual: w.web, matcher: HaveBeenProbed(trace.Liveness).WithResult(trace.Failure).
			Times(3).Between(44*time.Second, 56*time.Second), ok: true},
		{name: "too few failures", actual: w.web, matcher: HaveBeenProbed(trace.Liveness).WithResult(trace.Failure).
			Times(5)},
		{name: "result that did not occur", actual: w.web,
			matcher: HaveBeenProbed(trace.Startup).WithResult(trace.Error)},
		{name: "container without the probe", actual: helper, matcher: HaveBeenProbed(trace.Liveness),
			err: "crash/helper has no liveness probe"},
		{name: "unknown probe", actual: w.crash, matcher: HaveBeenProbed("livenes"),
			err: `there is no livenes probe (did you mean "liveness"?)`},
		{name: "time of the wrong type", actual: app, matcher: HaveBeenProbed(trace.Liveness).At("20s"),
			err: "a time is a time.Duration or a matcher, not a value of type string"},
		{name: "time in the future", actual: app, matcher: HaveBeenProbed(trace.Liveness).At(time.Hour),
			err: "the time 1h after the pod was added has not come: the run has only reached 120.000s: call Advance " +
				"first"},
		{name: "unknown result", actual: app, matcher: HaveBeenProbed(trace.Liveness).WithResult("sucess"),
			err: `a probe never has the result "sucess" (did you mean "success"?)`},
	})
}
