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

// TestCallbacksRunInOrder sets, moves and stops timers, also from callbacks. Each timer that is not
// stopped fires once. Timers fire in the order of their times, and at the same time in the order in
// which they were last set. A time in the past counts as now. Standing timers are no different.
func TestCallbacksRunInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sim.New(sim.Options{})
		type set struct {
			at    virtual.Time
			order int
		}
		due := map[string]set{} // the timers that are set
		timers := map[string]*sim.Timer{}
		order := 0
		change := func(timers map[string]*sim.Timer) {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "timer")
			if rapid.IntRange(0, 4).Draw(t, "0 stops it") == 0 {
				s.Stop(timers[name])
				delete(due, name)
				return
			}
			at := virtual.At(seconds(t))
			s.Set(timers[name], at)
			order++
			due[name] = set{max(at, s.Now()), order}
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			timers[name] = s.NewTimer(name, func() {
				me, ok := due[name]
				if !ok || me.at != s.Now() {
					t.Fatalf("%s fires at %v; set: %v, for %v", name, s.Now(), ok, me.at)
				}
				delete(due, name)
				for other, o := range due {
					if o.at < me.at || o.at == me.at && o.order < me.order {
						t.Errorf("%s fires before %s, which is set for %v", name, other, o.at)
					}
				}
				if rapid.Bool().Draw(t, "one more change") {
					change(timers)
				}
			})
			if rapid.Bool().Draw(t, "standing") {
				s.Stand(timers[name])
			}
		}
		for range rapid.IntRange(0, 10).Draw(t, "changes") {
			change(timers)
		}
		if err := s.RunUntil(virtual.At(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if len(due) > 0 {
			t.Errorf("never fired: %v", due)
		}
	})
}

// TestSleepersWakeInOrder compares sleeping processes with a model, a sorted list. Processes wake
// in the order of their times. Of the processes that wake at the same instant, the last to fall
// asleep runs first, and the others run in the order in which they fell asleep. At the start,
// processes run in the order in which they were started.
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
			t.Errorf("wake-ups differ from the model (-model +run):\n%s", diff)
		}
	})
}

// wakeUps returns the wake-ups that the kernel must produce, from a sorted list of sleepers.
func wakeUps(sleeps [][]int) []string {
	type sleeper struct{ proc, next, at int }
	var list []sleeper
	var notes []string
	// advance moves a process to its next sleep that takes time.
	advance := func(s sleeper) {
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
			advance(s)
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

// Without a chooser, the process that was woken last runs first and the others run in the order in
// which they were enabled, as in Go's scheduler. All timers of an instant fire before its processes
// run.
func TestCanonicalOrderMatchesGo(t *testing.T) {
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
	runAndClose(t, s, time.Second)
	want := []string{"callback", "second", "first", "callback of first", "sleeper", "child"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// RunUntil runs all events of the last instant and no later ones. The next call continues there.
func TestRunUntilEndsWithTheInstant(t *testing.T) {
	s := sim.New(sim.Options{Start: virtual.At(-3 * time.Second)})
	var got []virtual.Time
	s.Go("p", func(p *sim.Proc) {
		for {
			got = append(got, p.Now())
			p.Sleep(time.Second)
		}
	})
	for _, until := range []virtual.Time{-1, 0, virtual.At(1500 * time.Millisecond)} {
		if err := s.RunUntil(until); err != nil || s.Now() != until {
			t.Errorf("RunUntil(%v): now %v, error %v", until, s.Now(), err)
		}
	}
	s.Close()
	var want []virtual.Time
	for seconds := -3; seconds <= 1; seconds++ {
		want = append(want, virtual.At(time.Duration(seconds)*time.Second))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}
