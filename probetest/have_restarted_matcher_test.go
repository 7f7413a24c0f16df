package probetest

import (
	"testing"
	"time"
)

func TestHaveRestarted(t *testing.T) {
	w := newWorld(t)
	app, worker, helper := w.web.Container("app"), w.crash.Container("worker"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "it has", actual: app, matcher: HaveRestarted(), ok: true},
		{name: "once", actual: w.web, matcher: HaveRestarted().Times(1), ok: true},
		{name: "twice", actual: app, matcher: HaveRestarted().Times(2)},
		{name: "too early", actual: app, matcher: HaveRestarted().Within(30 * time.Second)},
		{name: "too late", actual: app, matcher: HaveRestarted().After(90 * time.Second)},
		{name: "in time", actual: app, matcher: HaveRestarted().AtLeast(1).Between(50*time.Second, 70*time.Second), ok: true},
		{name: "never", actual: helper, matcher: HaveRestarted()},
		{name: "0 times", actual: helper, matcher: HaveRestarted().Times(0), ok: true},
		{name: "one container", actual: worker, matcher: HaveRestarted().AtLeast(5)},
		{name: "any container", actual: w.crash, matcher: HaveRestarted().Times(4), ok: true},
	})
}
