package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"probesim.dev/internal/runner"
)

// failing is a writer that fails after a number of writes.
type failing struct {
	writes int
	err    error
}

func (w *failing) Write(p []byte) (int, error) {
	if w.writes--; w.writes < 0 {
		return 0, w.err
	}
	return len(p), nil
}

// TestWriteErrors checks that a closed pipe ends the command silently, a full disk with an error.
func TestWriteErrors(t *testing.T) {
	commands := [][]string{{"version"}, {"completion", "bash"}, {"completion", "zsh"}, {"completion"}, {"--help"},
		{"help", "run"}, {}}
	for _, format := range runner.Formats() {
		args := []string{"run", library, "-o", format}
		if format == "svg" { // a picture has one run
			args = append(args, "--run", "^exec-liveness$")
		}
		commands = append(commands, args)
	}
	recording := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(recording, []byte(crashed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range incidentOutputs {
		commands = append(commands, []string{"incident", recording, "-o", format})
	}
	for _, args := range commands {
		for err, want := range map[error]int{syscall.EPIPE: exitPipe, syscall.ENOSPC: exitBroken} {
			var stderr strings.Builder
			code := execute(context.Background(), args, &failing{err: err}, &stderr)
			if code != want || strings.Contains(stderr.String(), err.Error()) != (want == exitBroken) {
				t.Errorf("%q, %v: exit code %d, stderr %q", args, err, code, stderr.String())
			}
		}
	}
}

// crashed is a pod without probes that a cluster recorded.
const crashed = `
kind: Pod
metadata: {name: web, uid: aa-1, creationTimestamp: "2024-05-18T21:00:00Z"}
spec: {containers: [{name: app, image: web}]}
status:
  phase: Running
  containerStatuses:
  - {name: app, ready: true, restartCount: 1, state: {running: {startedAt: "2024-05-18T21:00:43Z"}},
     lastState: {terminated: {exitCode: 1, startedAt: "2024-05-18T21:00:02Z", finishedAt: "2024-05-18T21:00:42Z"}}}
`

// restarted is a pod that a cluster recorded.
const restarted = `
kind: Pod
metadata: {name: web, uid: aa-1, creationTimestamp: "2024-05-18T21:00:00Z"}
spec: {containers: [{name: app, image: web, livenessProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 2}}]}
status:
  phase: Running
  containerStatuses:
  - {name: app, ready: true, restartCount: 1, state: {running: {startedAt: "2024-05-18T21:00:43Z"}},
     lastState: {terminated: {exitCode: 137, startedAt: "2024-05-18T21:00:02Z", finishedAt: "2024-05-18T21:00:42Z"}}}
---
kind: Event
metadata: {name: web.1}
involvedObject: {kind: Pod, name: web, uid: aa-1, fieldPath: "spec.containers{app}"}
type: Normal
reason: Killing
message: "Container app failed liveness probe, will be restarted"
firstTimestamp: "2024-05-18T21:00:12Z"
lastTimestamp: "2024-05-18T21:00:12Z"
count: 1
`

// TestStreamStopsWithItsReader checks that a long run stops when the reader of its trace closes the
// pipe.
func TestStreamStopsWithItsReader(t *testing.T) {
	args := []string{"run", library, "--run", "^exec-liveness$", "-o", "jsonl", "--until", "720h"}
	done := make(chan int, 1)
	go func() {
		done <- execute(context.Background(), args, &failing{writes: 1, err: syscall.EPIPE}, io.Discard)
	}()
	select {
	case code := <-done:
		if code != exitPipe {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(20 * time.Second):
		t.Error("the run did not stop")
	}
}
