package probetest

import (
	"testing"
	"time"
)

func TestHaveRestarted(t *testing.T) {
	w := newWorld(t)
	app, worker, helper := w.web.Container("app"), w.crash.Container("worker"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "whole run", actual: app, matcher: HaveRestarted(), ok: true},
		{name: "exact number", actual: w.web, matcher: HaveRestarted().Times(1), ok: true},
		{name: "too few restarts", actual: app, matcher: HaveRestarted().Times(2)},
		{name: "not yet in the window", actual: app, matcher: HaveRestarted().Within(30 * time.Second)},
		{name: "before the window", actual: app, matcher: HaveRestarted().After(90 * time.Second)},
		{name: "in the window", actual: app,
			matcher: HaveRestarted().AtLeast(1).Between(50*time.Second, 70*time.Second), ok: true},
		{name: "no restart", actual: helper, matcher: HaveRestarted()},
		{name: "zero restarts", actual: helper, matcher: HaveRestarted().Times(0), ok: true},
		{name: "one container", actual: worker, matcher: HaveRestarted().AtLeast(5)},
		{name: "any container", actual: w.crash, matcher: HaveRestarted().Times(4), ok: true},
	})
}
