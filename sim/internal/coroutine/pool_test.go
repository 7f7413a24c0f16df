package coroutine_test

import (
	"slices"
	"testing"

	"probesim.dev/sim/internal/coroutine"
)

type job struct {
	name string
	at   *coroutine.Coroutine[*job]
}

// jobs returns a pool whose jobs wait once, and the notes that the jobs write.
func jobs() (*coroutine.Pool[*job], *[]string) {
	notes := &[]string{}
	note := func(j *job, what string) { *notes = append(*notes, j.name+" "+what) }
	return &coroutine.Pool[*job]{Do: func(j *job) {
		defer note(j, "returns")
		note(j, "begins")
		j.at.Wait()
		note(j, "continues")
	}}, notes
}

// A job waits while others run, and new jobs reuse the coroutines of finished ones.
func TestRun(t *testing.T) {
	pool, notes := jobs()
	defer pool.Close()
	a, b, c := &job{name: "a"}, &job{name: "b"}, &job{name: "c"}
	for i, step := range []struct {
		job  *job
		done bool
	}{{a, false}, {b, false}, {a, true}, {c, false}, {b, true}, {c, true}} {
		if done := pool.Run(&step.job.at, step.job); done != step.done || done != (step.job.at == nil) {
			t.Errorf("step %d: %s is done: %v, want %v", i, step.job.name, done, step.done)
		}
	}
	want := []string{
		"a begins", "b begins", "a continues", "a returns", "c begins", "b continues", "b returns", "c continues",
		"c returns",
	}
	if !slices.Equal(*notes, want) {
		t.Errorf("got %v, want %v", *notes, want)
	}
}

// Stop runs the deferred calls of a waiting job and none of its other code. The pool remains
// usable.
func TestStop(t *testing.T) {
	pool, notes := jobs()
	defer pool.Close()
	a, b := &job{name: "a"}, &job{name: "b"}
	pool.Run(&a.at, a)
	pool.Stop(&a.at)
	if pool.Run(&b.at, b); !pool.Run(&b.at, b) {
		t.Error("b is not done")
	}
	want := []string{"a begins", "a returns", "b begins", "b continues", "b returns"}
	if !slices.Equal(*notes, want) {
		t.Errorf("got %v, want %v", *notes, want)
	}
}

// A coroutine that one pool no longer needs serves the next one with another function. One whose
// function has panicked serves nobody.
func TestSpare(t *testing.T) {
	var spare coroutine.Spare[*job]
	first := &coroutine.Pool[*job]{Spare: &spare, Do: func(j *job) { j.at.Wait() }}
	waits, stops, panics := &job{}, &job{}, &job{}
	first.Run(&waits.at, waits)
	first.Run(&waits.at, waits)
	first.Run(&stops.at, stops)
	first.Stop(&stops.at)
	first.Do = func(*job) { panic("wrong") }
	func() {
		defer func() { recover() }()
		first.Run(&panics.at, panics)
	}()
	first.Stop(&panics.at)
	first.Close()
	ran := 0
	second := &coroutine.Pool[*job]{Spare: &spare, Do: func(j *job) {
		j.at.Wait()
		ran++
	}}
	jobs := []*job{{}, {}, {}}
	for _, j := range jobs {
		second.Run(&j.at, j)
	}
	for _, j := range jobs {
		if !second.Run(&j.at, j) {
			t.Error("a job is not done")
		}
	}
	if second.Close(); ran != len(jobs) {
		t.Errorf("%d of %d jobs ran", ran, len(jobs))
	}
}

// The start of a coroutine costs more than most of its turns, so the next pool takes those that are
// spare.
func TestSpareSavesStarts(t *testing.T) {
	var spare coroutine.Spare[*job]
	use := func() {
		p := &coroutine.Pool[*job]{Spare: &spare, Do: func(*job) {}}
		for range 3 {
			j := &job{}
			p.Run(&j.at, j)
		}
		p.Close()
	}
	with := testing.AllocsPerRun(100, use)
	without := testing.AllocsPerRun(100, func() {
		spare = coroutine.Spare[*job]{}
		use()
	})
	if with+5 > without {
		t.Errorf("%.0f allocations with spare coroutines, %.0f without", with, without)
	}
}
