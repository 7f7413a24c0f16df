package probetest

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

func TestHaveConditionTransitions(t *testing.T) {
	w := newWorld(t)
	app := w.web.Container("app")
	try(t, []attempt{
		{name: "ready", actual: w.web, ok: true,
			matcher: HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionTrue)},
		{name: "never unready", actual: w.web, matcher: HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue)},
		{name: "not ready yet", actual: w.web, matcher: HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue).Within(10 * time.Second)},
		{name: "a window", actual: w.web, matcher: HaveConditionTransitions(v1.ContainersReady, v1.ConditionTrue, v1.ConditionFalse).Between(30*time.Second, time.Minute), ok: true},
		{name: "initialized", actual: w.crash, matcher: HaveConditionTransitions(v1.PodInitialized, v1.ConditionFalse, v1.ConditionTrue), ok: true},
		{name: "a container", actual: app, matcher: HaveConditionTransitions(v1.PodReady, v1.ConditionTrue), err: "only pods have conditions: assert about the pod and not about a container"},
		{name: "not shown", actual: w.web, matcher: HaveConditionTransitions(v1.PodScheduled, v1.ConditionTrue),
			err: "a trace does not contain the condition \"PodScheduled\"; it contains Initialized, ContainersReady and Ready"},
		{name: "nothing", actual: w.web, matcher: HaveConditionTransitions(v1.PodReady), err: "the expected statuses are missing: give v1.ConditionTrue or v1.ConditionFalse, once or more"},
		{name: "no status", actual: w.web, matcher: HaveConditionTransitions(v1.PodReady, "true"), err: "the status of a condition is True or False, and never \"true\""},
	})
}
