package probetest

import (
	"testing"
	"time"
)

func TestHaveBecomeReady(t *testing.T) {
	w := newWorld(t)
	app, helper := w.web.Container("app"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "whole run", actual: w.web, matcher: HaveBecomeReady().Times(2), ok: true},
		{name: "container within", actual: app, matcher: HaveBecomeReady().Within(20 * time.Second), ok: true},
		{name: "too late", actual: w.web, matcher: HaveBecomeReady().Within(10 * time.Second)},
		{name: "between", actual: w.web, matcher: HaveBecomeReady().Between(60*time.Second, 80*time.Second).Times(1),
			ok: true},
		{name: "never after", actual: w.web, matcher: HaveBecomeReady().After(80 * time.Second)},
		{name: "after the addition", actual: helper, matcher: HaveBecomeReady().After(0), ok: true},
	})
}
