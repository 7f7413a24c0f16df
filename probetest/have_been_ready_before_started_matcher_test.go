package probetest

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// readyBeforeStarted returns a pod whose run has a status that no kubelet should set: ready and not
// started.
func readyBeforeStarted() *Pod {
	status := func(started, ready bool) *trace.PodStatus {
		return &trace.PodStatus{Phase: "Running", Ready: ready, ContainersReady: ready, Initialized: true,
			Containers: []trace.ContainerStatus{{Name: "app", State: "running", Started: started, Ready: ready}}}
	}
	return &Pod{key: "default/web", Object: pod("web", v1.Container{Name: "app"}),
		member: member{log: &log{kubernetes: "v0.0.0", end: virtual.At(10 * time.Second), records: []trace.Record{
			{T: 0, Kind: trace.PodAdded, Pod: "default/web"},
			{T: virtual.At(2 * time.Second), Kind: trace.StatusPatched, Pod: "default/web",
				Status: status(false, false)},
			{T: virtual.At(3 * time.Second), Kind: trace.StatusPatched, Pod: "default/web",
				Status: status(false, true)},
			{T: virtual.At(4 * time.Second), Kind: trace.StatusPatched, Pod: "default/web", Status: status(true, true)},
		}}}}
}

func TestHaveBeenReadyBeforeStarted(t *testing.T) {
	w := newWorld(t)
	app := w.web.Container("app")
	try(t, []attempt{
		{name: "never", actual: w.web, matcher: HaveBeenReadyBeforeStarted()},
		{name: "not in the window", actual: app, matcher: HaveBeenReadyBeforeStarted().Within(time.Minute)},
		{name: "ready before started", actual: readyBeforeStarted(), matcher: HaveBeenReadyBeforeStarted(), ok: true},
	})
}
