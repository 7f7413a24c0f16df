package probetest

import (
	"testing"
	"time"
)

func TestHaveBackedOffFor(t *testing.T) {
	w := newWorld(t)
	app, worker, helper := w.web.Container("app"), w.crash.Container("worker"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "all back-offs", actual: worker,
			matcher: HaveBackedOffFor(10*time.Second, 20*time.Second, 40*time.Second, 80*time.Second), ok: true},
		{name: "wrong length", actual: worker,
			matcher: HaveBackedOffFor(10*time.Second, 30*time.Second, 40*time.Second, 80*time.Second)},
		{name: "too few back-offs", actual: worker, matcher: HaveBackedOffFor(10 * time.Second)},
		{name: "in a window", actual: worker, matcher: HaveBackedOffFor(80 * time.Second).After(90 * time.Second),
			ok: true},
		{name: "no back-off", actual: w.web, matcher: HaveBackedOffFor(), ok: true},
		{name: "missing back-off", actual: app, matcher: HaveBackedOffFor(10 * time.Second)},
		{name: "unexpected back-offs", actual: worker, matcher: HaveBackedOffFor()},
		{name: "ambiguous container", actual: w.crash, matcher: HaveBackedOffFor(10 * time.Second),
			err: "the pod crash has several containers: assert about one of them with Container: worker, helper"},
		{name: "other container", actual: helper, matcher: HaveBackedOffFor(), ok: true},
	})
}
