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

// jobs returns a pool whose jobs wait once, and what they note.
func jobs() (*coroutine.Pool[*job], *[]string) {
	notes := &[]string{}
	note := func(j *job, what string) { *notes = append(*notes, j.name+" "+what) }
	return &coroutine.Pool[*job]{Do: func(j *job) {
		defer note(j, "returns")
		note(j, "begins")
		j.at.Wait()
		note(j, "goes on")
	}}, notes
}

// Jobs wait while others run, and begin where others were done.
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
	want := []string{"a begins", "b begins", "a goes on", "a returns", "c begins", "b goes on", "b returns", "c goes on", "c returns"}
	if !slices.Equal(*notes, want) {
		t.Errorf("got %v, want %v", *notes, want)
	}
}

// Stop runs the deferred calls of a job that waits and nothing else of it. The pool goes on with others.
func TestStop(t *testing.T) {
	pool, notes := jobs()
	defer pool.Close()
	a, b := &job{name: "a"}, &job{name: "b"}
	pool.Run(&a.at, a)
	a.at.Stop()
	if pool.Run(&b.at, b); !pool.Run(&b.at, b) {
		t.Error("b is not done")
	}
	want := []string{"a begins", "a returns", "b begins", "b goes on", "b returns"}
	if !slices.Equal(*notes, want) {
		t.Errorf("got %v, want %v", *notes, want)
	}
}
