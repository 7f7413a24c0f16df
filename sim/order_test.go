package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// TestCallbacksRunInOrder sets, moves and stops timers, also from within callbacks: those that are not
// stopped run once each, by time and then by the order in which they were last set; a past time is now.
func TestCallbacksRunInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sim.New(sim.Options{})
		type set struct {
			at    time.Duration
			order int
		}
		due := map[string]set{} // what is to run yet
		timers := map[string]*sim.Timer{}
		order := 0
		change := func(timers map[string]*sim.Timer) {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "timer")
			if rapid.IntRange(0, 4).Draw(t, "0 stops it") == 0 {
				s.Stop(timers[name])
				delete(due, name)
				return
			}
			at := instant(t)
			s.Set(timers[name], virtual.At(at))
			order++
			due[name] = set{max(at, s.Now().Offset()), order}
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			timers[name] = s.NewTimer(name, func() {
				me, ok := due[name]
				if !ok || virtual.At(me.at) != s.Now() {
					t.Fatalf("%s runs at %v, was to run: %v at %v", name, s.Now(), ok, me.at)
				}
				delete(due, name)
				for other, o := range due {
					if o.at < me.at || o.at == me.at && o.order < me.order {
						t.Errorf("%s runs before %s, which was to run at %v", name, other, o.at)
					}
				}
				if rapid.Bool().Draw(t, "one more change") {
					change(timers)
				}
			})
		}
		for range rapid.IntRange(0, 10).Draw(t, "changes") {
			change(timers)
		}
		if err := s.RunUntil(virtual.At(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if len(due) > 0 {
			t.Errorf("never ran: %v", due)
		}
	})
}

// TestSleepersWakeInOrder compares processes that sleep with a plain list: by time, then by the order in
// which they went to sleep, except that of those that wake at one instant the last goes first. At the
// start they go in the order in which they were started.
func TestSleepersWakeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sleeps := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 4), 0, 6), 1, 5).Draw(t, "seconds of each process")
		s := sim.New(sim.Options{})
		var got []string
		for i, seconds := range sleeps {
			s.Go(fmt.Sprint(i), func(p *sim.Proc) {
				for _, n := range seconds {
					p.Sleep(time.Duration(n) * time.Second)
					got = append(got, fmt.Sprintf("%d at %v", i, p.Now()))
				}
			})
		}
		if err := s.RunUntil(virtual.At(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wakeUps(sleeps), got); diff != "" {
			t.Errorf("wake-ups differ from the list (-list +run):\n%s", diff)
		}
	})
}

// wakeUps is what the kernel does, as a list that is kept sorted.
func wakeUps(sleeps [][]int) []string {
	type sleeper struct{ proc, next, at int }
	var list []sleeper
	var notes []string
	// goOn has a process go on until it sleeps for a while.
	goOn := func(s sleeper) {
		for ; s.next < len(sleeps[s.proc]); s.next++ {
			if n := sleeps[s.proc][s.next]; n > 0 {
				s.at += n
				list = append(list, s)
				return
			}
			notes = append(notes, fmt.Sprintf("%d at %v", s.proc, time.Duration(s.at)*time.Second))
		}
	}
	var awake []sleeper
	for i := range sleeps {
		awake = append(awake, sleeper{proc: i, next: -1})
	}
	for len(awake) > 0 {
		if awake[0].next >= 0 {
			awake = lastFirst(awake)
		}
		for _, s := range awake {
			if s.next >= 0 {
				notes = append(notes, fmt.Sprintf("%d at %v", s.proc, time.Duration(s.at)*time.Second))
			}
			s.next++
			goOn(s)
		}
		slices.SortStableFunc(list, func(a, b sleeper) int { return a.at - b.at })
		n := 0
		for n < len(list) && list[n].at == list[0].at {
			n++
		}
		awake, list = slices.Clone(list[:n]), list[n:]
	}
	return notes
}

func lastFirst[T any](list []T) []T {
	n := len(list) - 1
	return append([]T{list[n]}, list[:n]...)
}

// Without a chooser the process that was woken last runs first, then the others in the order in which
// they were enabled, as in Go's scheduler; the timers of an instant fire before any of its processes runs.
func TestCanonicalOrderIsThatOfGo(t *testing.T) {
	s := sim.New(sim.Options{})
	var got []string
	note := func(what string) { got = append(got, what) }
	sleeper := s.Go("sleeper", func(p *sim.Proc) { p.Park(); note("sleeper") })
	s.Go("first", func(p *sim.Proc) {
		p.Sleep(time.Second)
		note("first")
		s.Go("child", func(*sim.Proc) { note("child") })
		s.At(p.Now(), "callback of first", func() { note("callback of first") })
		sleeper.Wake()
	})
	s.Go("second", func(p *sim.Proc) { p.Sleep(time.Second); note("second") })
	s.At(virtual.At(time.Second), "callback", func() { note("callback") })
	run1(t, s, time.Second)
	want := []string{"callback", "second", "first", "callback of first", "sleeper", "child"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// RunUntil does everything of the last instant and leaves what is later to the next call.
func TestRunUntilEndsWithTheInstant(t *testing.T) {
	s := sim.New(sim.Options{Start: virtual.At(-3 * time.Second)})
	var got []time.Duration
	s.Go("p", func(p *sim.Proc) {
		for {
			got = append(got, p.Now().Offset())
			p.Sleep(time.Second)
		}
	})
	for _, until := range []time.Duration{-1, 0, 1500 * time.Millisecond} {
		if err := s.RunUntil(virtual.At(until)); err != nil || s.Now() != virtual.At(until) {
			t.Errorf("RunUntil(%v): now %v, error %v", until, s.Now(), err)
		}
	}
	s.Close()
	want := []time.Duration{-3 * time.Second, -2 * time.Second, -time.Second, 0, time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}
