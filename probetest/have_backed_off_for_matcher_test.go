package probetest

import (
	"testing"
	"time"
)

func TestHaveBackedOffFor(t *testing.T) {
	w := newWorld(t)
	app, worker, helper := w.web.Container("app"), w.crash.Container("worker"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "in order", actual: worker, matcher: HaveBackedOffFor(10*time.Second, 20*time.Second, 40*time.Second, 80*time.Second), ok: true},
		{name: "another length", actual: worker, matcher: HaveBackedOffFor(10*time.Second, 30*time.Second, 40*time.Second, 80*time.Second)},
		{name: "fewer", actual: worker, matcher: HaveBackedOffFor(10 * time.Second)},
		{name: "a window", actual: worker, matcher: HaveBackedOffFor(80 * time.Second).After(90 * time.Second), ok: true},
		{name: "never", actual: w.web, matcher: HaveBackedOffFor(), ok: true},
		{name: "never, and should", actual: app, matcher: HaveBackedOffFor(10 * time.Second)},
		{name: "never, but did", actual: worker, matcher: HaveBackedOffFor()},
		{name: "which container", actual: w.crash, matcher: HaveBackedOffFor(10 * time.Second), err: "the pod crash has several containers: assert about one of them with Container: worker, helper"},
		{name: "not the other", actual: helper, matcher: HaveBackedOffFor(), ok: true},
	})
}
