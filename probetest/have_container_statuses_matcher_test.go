package probetest

import (
	"testing"
	"time"

	"probesim.dev/trace"
)

func TestHaveContainerStatuses(t *testing.T) {
	w := newWorld(t)
	app, worker, helper := w.web.Container("app"), w.crash.Container("worker"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "now", actual: w.web, ok: true,
			matcher: HaveContainerStatuses(trace.ContainerStatus{Name: "app", State: "running", Started: true,
				Ready: true, RestartCount: 1})},
		{name: "earlier", actual: w.web,
			matcher: HaveContainerStatuses(trace.ContainerStatus{Name: "app", State: "running"}).At(5 * time.Second),
			ok:      true},
		{name: "different status", actual: app,
			matcher: HaveContainerStatuses(trace.ContainerStatus{Name: "app", State: "running", Ready: true}).
				At(5 * time.Second)},
		{name: "one of two containers", actual: helper,
			matcher: HaveContainerStatuses(trace.ContainerStatus{Name: "helper", State: "running", Started: true,
				Ready: true}), ok: true},
		{name: "missing container", actual: w.crash,
			matcher: HaveContainerStatuses(trace.ContainerStatus{Name: "helper", State: "running", Started: true,
				Ready: true})},
		{name: "waiting", actual: worker, ok: true,
			matcher: HaveContainerStatuses(trace.ContainerStatus{Name: "worker", State: "waiting",
				Reason: "CrashLoopBackOff", RestartCount: 3}).At(92680 * time.Millisecond)},
		{name: "time in the future", actual: w.web,
			matcher: HaveContainerStatuses(trace.ContainerStatus{Name: "app", State: "running"}).At(time.Hour),
			err:     "the run has only reached 120.000s: call Advance first"},
		{name: "no statuses", actual: w.web, matcher: HaveContainerStatuses(),
			err: "the expected container statuses are missing: give one for each container"},
		{name: "unknown container", actual: w.web,
			matcher: HaveContainerStatuses(trace.ContainerStatus{Name: "ap", State: "running"}),
			err:     `the pod web has no container "ap" (did you mean "app"?); its containers are: app`},
		{name: "unknown state", actual: w.web,
			matcher: HaveContainerStatuses(trace.ContainerStatus{Name: "app", State: "runing"}),
			err:     `never "runing" (did you mean "running"?)`},
	})
}
