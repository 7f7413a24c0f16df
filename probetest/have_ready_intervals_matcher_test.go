package probetest

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
)

func TestHaveReadyIntervals(t *testing.T) {
	w := newWorld(t)
	app, worker, helper := w.web.Container("app"), w.crash.Container("worker"), w.crash.Container("helper")
	try(t, []attempt{
		{name: "durations", actual: w.web, ok: true, matcher: HaveReadyIntervals(
			ReadyInterval{From: 15053 * time.Millisecond, To: 55240 * time.Millisecond},
			ReadyInterval{From: 70053 * time.Millisecond},
		)},
		{name: "matchers", actual: app, ok: true, matcher: HaveReadyIntervals(
			ReadyInterval{From: gomega.BeNumerically("~", 15*time.Second, time.Second),
				To: gomega.BeNumerically(">", 50*time.Second)},
			ReadyInterval{From: gomega.BeNumerically("<", 75*time.Second)},
		)},
		{name: "wrong end", actual: w.web,
			matcher: HaveReadyIntervals(ReadyInterval{From: 15053 * time.Millisecond, To: 50 * time.Second},
				ReadyInterval{From: gomega.Not(gomega.BeZero())})},
		{name: "too few intervals", actual: w.web,
			matcher: HaveReadyIntervals(ReadyInterval{From: 15053 * time.Millisecond,
				To: gomega.Not(gomega.BeZero())})},
		{name: "too many intervals", actual: app,
			matcher: HaveReadyIntervals(ReadyInterval{From: 15053 * time.Millisecond, To: 30 * time.Second},
				ReadyInterval{From: 40 * time.Second}).Within(50 * time.Second)},
		{name: "never ready", actual: w.web, matcher: HaveReadyIntervals().Within(10 * time.Second), ok: true},
		{name: "interval from before the window", actual: helper,
			matcher: HaveReadyIntervals(ReadyInterval{From: time.Minute}).After(time.Minute), ok: true},
		{name: "unexpected intervals", actual: worker, matcher: HaveReadyIntervals()},
		{name: "time of the wrong type", actual: app, matcher: HaveReadyIntervals(ReadyInterval{From: 15}),
			err: "a time is a time.Duration or a matcher, not a value of type int"},
	})
}
