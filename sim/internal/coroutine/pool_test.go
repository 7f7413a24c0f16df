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

// A coroutine whose function has panicked does not run again. The next job gets a new one.
func TestPanic(t *testing.T) {
	pool := &coroutine.Pool[*job]{Do: func(*job) { panic("wrong") }}
	defer pool.Close()
	panics := &job{}
	func() {
		defer func() { recover() }()
		pool.Run(&panics.at, panics)
	}()
	pool.Stop(&panics.at)
	ran := false
	pool.Do = func(*job) { ran = true }
	if next := (&job{}); !pool.Run(&next.at, next) || !ran {
		t.Error("the next job did not run")
	}
}
