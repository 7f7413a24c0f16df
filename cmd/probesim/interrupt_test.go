package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

const library = "../../scenarios/library/quickstart"

// TestInterrupted checks that the report of an interrupted command lists the missing runs as errors. Without them,
// the report would read as a success.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for format, want := range map[string]string{"json": `{` + "\n" + `  "outcome": "error"`, "junit": `errors="4"`} {
		var stdout, stderr bytes.Buffer
		if code := execute(ctx, []string{"run", library, "-o", format, "--seed", "1..50"}, &stdout, &stderr); code != exitInterrupted {
			t.Errorf("%s: exit code %d, want %d", format, code, exitInterrupted)
		}
		if !strings.Contains(stdout.String(), want) || !strings.Contains(stdout.String(), "interrupted") {
			t.Errorf("%s: no %q in\n%.600s", format, want, stdout.String())
		}
		if got := stderr.String(); !strings.Contains(got, "of 200 runs completed") {
			t.Errorf("%s: stderr is %q", format, got)
		}
	}
}

// TestInterruptedRun checks that an interrupted run shows its records so far, and checks expectations that need no more.
func TestInterruptedRun(t *testing.T) {
	all, err := scenarios.Load(library)
	if err != nil {
		t.Fatal(err)
	}
	j := (&selection{until: 24 * time.Hour}).job(all[0].Plan("v1.37.0", nil), 0)
	var stdout, stderr bytes.Buffer
	cmd := newRoot(&stdout, &stderr)
	out := newOutput(cmd, []*job{j}, runOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	s := j.simulate(ctx, false, nil, func(now virtual.Time) {
		if now == virtual.At(time.Hour) {
			cancel()
		}
	})
	if err := out.emit(0, out.render(s)); err != nil {
		t.Fatal(err)
	}
	if err := out.finish(true); err == nil || err.Error() != "interrupted at 1h of 24h" || err.(*exitError).code != exitInterrupted {
		t.Errorf("got error %v", err)
	}
	for _, want := range []string{"exec-liveness  v1.37.0  1h  ", "liveness-exec\n", "Events:", "ok       documented", "ERROR    interrupted"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
		}
	}
}
