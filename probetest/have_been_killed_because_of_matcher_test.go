package probetest

import (
	"testing"
	"time"
)

func TestHaveBeenKilledBecauseOf(t *testing.T) {
	w := newWorld(t)
	app, worker, helper := w.web.Container("app"), w.crash.Container("worker"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "liveness probe", actual: app, matcher: HaveBeenKilledBecauseOf("LivenessProbe").Times(1).
			Within(time.Minute), ok: true},
		{name: "other reason", actual: app, matcher: HaveBeenKilledBecauseOf("StartupProbe")},
		{name: "other container", actual: helper, matcher: HaveBeenKilledBecauseOf("Deleted")},
		{name: "container without the probe", actual: helper, matcher: HaveBeenKilledBecauseOf("LivenessProbe"),
			err: "crash/helper has no liveness probe"},
		{name: "unknown reason", actual: worker, matcher: HaveBeenKilledBecauseOf("Liveness"),
			err: "no container is ever killed because of \"Liveness\"; the reasons are LivenessProbe, StartupProbe, " +
				"FailedPostStartHook, ImageChanged, Resized, RestartAllContainers, Deleted, Evicted, Stopped, " +
				"OOMKilled"},
	})
}
