package search

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// at10 and at11 are two instants.
const at10, at11 = virtual.Time(10 * time.Second), virtual.Time(11 * time.Second)

func firstOf(l *log, now virtual.Time, keys ...string) string {
	var candidates []choose.Choice
	for _, k := range keys {
		candidates = append(candidates, choose.Choice{Kind: choose.Next, Key: k})
	}
	return keys[l.first(candidates, now)]
}

// Of several processes the one whose next turn comes first in the log goes first. A turn that the
// run has done counts no more, nor do turns of other instants. A process without a turn keeps its
// canonical place.
func TestLogOrdersProcesses(t *testing.T) {
	l := newLog([]Turn{{at10, "b", "begin"}, {at10, "a", "begin"}, {at10, "b", "done"}, {at11, "c", "begin"}}).again()
	check := func(now virtual.Time, want string, keys ...string) {
		t.Helper()
		if got := firstOf(l, now, keys...); got != want {
			t.Errorf("at %v of %v %s goes first, want %s", now, keys, got, want)
		}
	}
	check(at10, "b", "a", "c", "b")
	check(at10, "c", "c", "a", "b")
	check(at10, "a", "runtime", "a")
	check(at10, "runtime", "scenario", "sleep of status manager", "runtime")
	check(at10, "scenario", "scenario", "sleep of status manager")
	l.do("b", "begin", at10)
	check(at10, "a", "b", "a")
	l.do("b", "done", at10)
	check(at10, "b", "b", "a")
	check(at11, "c", "c", "a")
	if got := firstOf(newLog(nil).again(), at10, "runtime", "a"); got != "runtime" {
		t.Errorf("without a log %s goes first", got)
	}
}

// A hook that ends goes when its container is stopped, and the call of the status manager when the
// log shows its end.
func TestLogOrdersHooksAndCalls(t *testing.T) {
	const a, b = "preStop hook of default/a/app", "sleep of preStop hook of default/b/app"
	l := newLog([]Turn{
		{at10, "killer of default/b/app", "stop"}, {at10, "call to the API server", "end"},
		{at10, "killer of default/a/app", "stop"},
	}).again()
	for _, test := range []struct{ process, first string }{
		{"killer of default/b/app", b}, {"call to the API server", "sleep of status manager"}, {"", a},
	} {
		if got := firstOf(l, at10, a, "sleep of status manager", b); got != test.first {
			t.Errorf("%s goes first, want %s", got, test.first)
		}
		if test.process != "" {
			l.do(test.process, l.left(test.process, at10)[0].point, at10)
		}
	}
}

// The timeout of a request and a tick at the same instant have the order of the log, which shows
// when the probe ends.
func TestLogOrdersTimeouts(t *testing.T) {
	l := newLog([]Turn{{at10, "v", "tick of v"}, {at10, "w", "probed"}, {at10, "x", "tick of x"}}).again()
	l.do("v", "tick of v", at10)
	if got := firstOf(l, at10, "x", "runtime"); got != "runtime" {
		t.Errorf("%s goes before the timeout", got)
	}
	l.do("w", "probed", at10)
	if got := firstOf(l, at10, "x", "runtime"); got != "x" {
		t.Errorf("after the timeout %s goes first", got)
	}
}

// A worker that has ended and the worker that replaces it have the same name. The first run that
// comes first is that of the first one.
func TestStartOfTheFirstWorker(t *testing.T) {
	s := Start{Fractions: []float64{0.5, 0.25},
		Runs: []FirstRun{{"w", at11, 2 * time.Second}, {"w", at11.Add(-500 * time.Millisecond), 2 * time.Second}}}
	if f := s.of("w", at10); f != 0.25 {
		t.Errorf("the start delay at 10s is %v", f)
	}
	if f := s.of("w", at11.Add(-500*time.Millisecond)); f != 0.25 {
		t.Errorf("the start delay at 10.5s is %v", f)
	}
}

// A housekeeping that is not in the log came later: the sync loop slept when it had handled the
// sync tick.
func TestLogDelaysHousekeeping(t *testing.T) {
	l := newLog([]Turn{{at10.Add(5 * time.Second), "sync loop", "housekeeping ticker"}}).again()
	for _, keys := range [][]string{{"housekeeping ticker", "sync ticker"}, {"sync ticker", "housekeeping ticker"}} {
		if got := firstOf(l, at10, keys...); got != "sync ticker" {
			t.Errorf("of %v %s goes first, want the sync ticker", keys, got)
		}
	}
}

// The sync loop handles one value between a check that finds the runtime unhealthy and its sleep. A
// sync tick that finds nothing to do is not in the log. If the sync loop sleeps at the instant of
// the tick, the tick is that value, unless the log shows another one. If it sleeps later, the tick
// came before the check.
func TestLogOrdersSleeps(t *testing.T) {
	check := Turn{at10, "runtime check", "checked"}
	for _, c := range []struct {
		name  string
		turns []Turn
		order []string
	}{
		{"at the tick", []Turn{check, {at10, "sync loop", "sleep"}},
			[]string{"runtime check", "sync ticker", "housekeeping ticker"}},
		{"after a housekeeping", []Turn{check, {at10, "sync loop", "housekeeping ticker"},
			{at10.Add(5 * time.Millisecond), "sync loop", "sleep"}},
			[]string{"runtime check", "housekeeping ticker", "sync ticker"}},
		{"later", []Turn{check, {at11, "sync loop", "sleep"}},
			[]string{"sync ticker", "runtime check", "housekeeping ticker"}},
	} {
		log, left := newLog(c.turns), []string{"housekeeping ticker", "runtime check", "sync ticker"}
		for i, want := range c.order {
			for range left { // the canonical order has no effect
				if got := firstOf(log.again(), at10, left...); got != want {
					t.Errorf("%s: of %v %s goes first, want %s", c.name, left, got, want)
				}
				left = append(left[1:], left[0])
			}
			left = slices.DeleteFunc(left, func(key string) bool { return key == c.order[i] })
		}
	}
}

// The items of a walk have the places of their next entries, now or later.
func TestLogOrdersWalks(t *testing.T) {
	l := newLog([]Turn{{at10, "status batch", "x"}, {at11, "status batch", "y"}, {at11, "status batch", "x"}}).again()
	for _, c := range []struct {
		now   virtual.Time
		point string
		place int
		ok    bool
	}{{at10, "x", 0, true}, {at10, "y", 1, true}, {at10, "z", 0, false}, {at11, "x", 2, true}} {
		if place, ok := l.place("status batch", c.point, c.now); place != c.place || ok != c.ok {
			t.Errorf("at %v %s has place %d, %t; want %d, %t", c.now, c.point, place, ok, c.place, c.ok)
		}
	}
}

// A sync tick that finds nothing to do is not in the log. It came before the housekeeping of its
// instant, unless the log has one after it.
func TestLogOrdersTicks(t *testing.T) {
	for _, c := range []struct {
		tick virtual.Time // the next one in the log
		want string
	}{
		{at10, "housekeeping ticker"},
		{at10.Add(5 * time.Millisecond), "housekeeping ticker"},
		{at11, "sync ticker"},
		{at10.Add(5 * time.Second), "sync ticker"},
	} {
		l := newLog([]Turn{{at10, "sync loop", "housekeeping ticker"}, {c.tick, "sync loop", "sync ticker"}}).again()
		for _, keys := range [][]string{{"housekeeping ticker", "sync ticker"},
			{"sync ticker", "housekeeping ticker"}} {
			if got := firstOf(l, at10, keys...); got != c.want {
				t.Errorf("with a sync tick at %v, of %v %s goes first, want %s", c.tick, keys, got, c.want)
			}
		}
	}
}

// A walk follows a turn of its process. It counts if this turn is now and not after the next turn
// of the process that asks.
func TestLogHasTheItemsOfAWalk(t *testing.T) {
	l := newLog([]Turn{
		{at10, "a", "enter"}, {at10, "manager", "signal"}, {at10, "batch", "x"}, {at10, "batch", "y"},
		{at10, "a", "done"}, {at11, "manager", "signal"}, {at11, "batch", "z"},
	}).again()
	check := func(now virtual.Time, by, want string) {
		t.Helper()
		if got, ok := l.walk("batch", "manager", by, now); fmt.Sprint(got, ok) != want {
			t.Errorf("at %v for %s: %v %t, want %s", now, by, got, ok, want)
		}
	}
	check(at10-1, "manager", "[] false")
	check(at10, "manager", "[x y] true")
	check(at10, "b", "[x y] true")
	check(at10, "a", "[] false")
	l.do("a", "enter", at10)
	check(at10, "a", "[x y] true")
	l.do("manager", "signal", at10)
	check(at10, "manager", "[] false")
	check(at11, "manager", "[z] true")
}
