package runner

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/show/report"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

const library = "../../scenarios/library/quickstart"

// TestInterruptedRun checks that an interrupted run shows its records so far, and checks
// expectations that need no more.
func TestInterruptedRun(t *testing.T) {
	all, err := scenarios.Load(library)
	if err != nil {
		t.Fatal(err)
	}
	j := (&Selection{Until: 24 * time.Hour}).job(all[0].Plan("v1.37", nil))
	var stdout bytes.Buffer
	out := newOutput([]*Job{j}, Options{Stdout: &stdout})
	ctx, cancel := context.WithCancel(context.Background())
	s := j.Simulate(ctx, false, nil, func(now virtual.Time) {
		if now == virtual.At(time.Hour) {
			cancel()
		}
	})
	if err := out.emit(0, out.render(s)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.finish(ctx); err != (Interrupted{context.Canceled, " at 1h of 24h"}) {
		t.Errorf("got error %v", err)
	}
	for _, want := range []string{"exec-liveness  v1.37  1h  ", "liveness-exec\n", "Events:", "ok       documented",
		"ERROR    interrupted"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
		}
	}
}

// TestPanicIsCaught checks that a panic in a run becomes an error that names the command to repeat
// the run.
func TestPanicIsCaught(t *testing.T) {
	all, err := scenarios.Load(library)
	if err != nil {
		t.Fatal(err)
	}
	j := (&Selection{}).job(all[0].Plan("v1.37", new(int64(3))))
	s := j.Simulate(t.Context(), false, nil, func(virtual.Time) { panic("a bug") })
	run := s.Report()
	if run.Outcome() != report.Broken {
		t.Fatalf("the outcome is %s", run.Outcome())
	}
	for _, want := range []string{"bug in probesim", "panic: a bug", "--run '^" + all[0].Metadata.Name +
		"$' --kubernetes v1.37 --seed 3"} {
		if !strings.Contains(run.Err.Error(), want) {
			t.Errorf("no %q in %v", want, run.Err)
		}
	}
	if got := report.Worst([]report.Case{{Runs: []*report.Run{run}}}); got != report.Broken {
		t.Errorf("the outcome of all runs is %s", got)
	}
}

// TestRunExceedsMemory checks the error of a run that needs too much memory.
func TestRunExceedsMemory(t *testing.T) {
	all, err := scenarios.Load(library)
	if err != nil {
		t.Fatal(err)
	}
	j := (&Selection{Until: 12 * time.Hour, Memory: 4_000_000}).job(all[0].Plan("v1.37", nil))
	s := j.Simulate(t.Context(), false, nil, nil)
	if !errors.As(s.Err, new(*node.MemoryError)) ||
		!strings.HasSuffix(s.Err.Error(), "use fewer pods, a longer period, a shorter duration or shorter bodies of "+
			"answers, or raise --max-memory, which is 4MB") {
		t.Errorf("got error %v", s.Err)
	}
	var stdout bytes.Buffer
	out := newOutput([]*Job{j}, Options{Stdout: &stdout})
	if err := out.emit(0, out.render(s)); err != nil {
		t.Fatal(err)
	}
	if outcome, err := out.finish(t.Context()); outcome != report.Broken || err != nil ||
		!strings.Contains(stdout.String(), "To repeat this run") {
		t.Errorf("the outcome is %s, %v, and\n%s", outcome, err, stdout.String())
	}
}
