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
		{name: "all transitions", actual: w.web, ok: true,
			matcher: HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue, v1.ConditionFalse,
				v1.ConditionTrue)},
		{name: "too few transitions", actual: w.web,
			matcher: HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue)},
		{name: "missing transition", actual: w.web,
			matcher: HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue).
				Within(10 * time.Second)},
		{name: "in a window", actual: w.web,
			matcher: HaveConditionTransitions(v1.ContainersReady, v1.ConditionTrue, v1.ConditionFalse).
				Between(30*time.Second, time.Minute), ok: true},
		{name: "other condition", actual: w.crash,
			matcher: HaveConditionTransitions(v1.PodInitialized, v1.ConditionFalse, v1.ConditionTrue), ok: true},
		{name: "container", actual: app, matcher: HaveConditionTransitions(v1.PodReady, v1.ConditionTrue),
			err: "only pods have conditions: assert about the pod and not about a container"},
		{name: "condition outside the trace", actual: w.web,
			matcher: HaveConditionTransitions(v1.PodScheduled, v1.ConditionTrue),
			err: "a trace does not contain the condition \"PodScheduled\"; it contains Initialized, ContainersReady " +
				"and Ready"},
		{name: "no statuses", actual: w.web, matcher: HaveConditionTransitions(v1.PodReady),
			err: "the expected statuses are missing: give v1.ConditionTrue or v1.ConditionFalse, once or more"},
		{name: "unknown status", actual: w.web, matcher: HaveConditionTransitions(v1.PodReady, "true"),
			err: "the status of a condition is True or False, and never \"true\""},
	})
}
