package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

const library = "../../scenarios/library/quickstart"

// A report of an interrupted command lists the runs that were not made as errors: a report without them
// would read as a success.
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
		if got := stderr.String(); !strings.Contains(got, "of 200 runs were made") {
			t.Errorf("%s: stderr is %q", format, got)
		}
	}
}
