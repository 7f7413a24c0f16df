package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"probesim.dev/internal/runner/cleanup"
)

const library = "../../scenarios/library/quickstart"

// TestInterrupted checks that the report of an interrupted command lists the missing runs as
// errors. Without them, the report would read as a success.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for format, want := range map[string]string{"json": `{` + "\n" + `  "outcome": "error"`, "junit": `errors="4"`} {
		var stdout, stderr bytes.Buffer
		if code := execute(ctx, []string{"run", library, "-o", format, "--seed", "1..50"}, &stdout, &stderr); code !=
			exitInterrupted {
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

// TestInterruptedDiff checks that an interrupted comparison of versions says how many are missing.
func TestInterruptedDiff(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	code := execute(ctx, []string{"diff", library, "-o", "lines", "--seed", "1..50"}, &stdout, &stderr)
	want := regexp.MustCompile(`interrupted: \d+ of 200 comparisons completed\n$`)
	if got := stderr.String(); code != exitInterrupted || !want.MatchString(got) {
		t.Errorf("exit code %d, stderr is %q", code, got)
	}
}

// TestSecondSignalAndPatience checks that a command that does not end by itself is ended after the
// patience or at the second signal, and that it leaves no temporary files.
func TestSecondSignalAndPatience(t *testing.T) {
	for name, test := range map[string]struct {
		second bool
		after  time.Duration
	}{"patience": {false, patience}, "second signal": {true, 0}} {
		synctest.Test(t, func(t *testing.T) {
			cleanup.Process = cleanup.New()
			dir, hang := t.TempDir(), make(chan struct{})
			defer close(hang)
			var stderr bytes.Buffer
			signals := make(chan os.Signal, 2)
			start := time.Now()
			code := untilInterrupted(signals, &stderr, func(ctx context.Context) int {
				temporary := filepath.Join(dir, "temporary")
				if err := os.WriteFile(temporary, nil, 0o600); err != nil {
					t.Error(err)
				}
				defer cleanup.Process.Add(func() { os.Remove(temporary) })()
				defer cleanup.Process.Add(func() { stderr.WriteString("clean ") })()
				signals <- os.Interrupt
				<-ctx.Done()
				if test.second {
					signals <- os.Interrupt
				}
				<-hang
				return exitOK
			})
			if code != exitInterrupted || time.Since(start) != test.after {
				t.Errorf("%s: exit code %d after %s", name, code, time.Since(start))
			}
			if got := stderr.String(); !strings.HasSuffix(got, "clean probesim: interrupted\n") {
				t.Errorf("%s: stderr is %q", name, got)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s: files %v are left, %v", name, left, err)
			}
		})
		cleanup.Process = cleanup.New() // outside of the bubble
	}
}

// TestSignals sends signals to the command at work. Each process would take minutes or forever.
func TestSignals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "node.yaml")
	if err := os.WriteFile(file, []byte(busyNode), 0o600); err != nil {
		t.Fatal(err)
	}
	small, long := filepath.Join(dir, "small.yaml"), filepath.Join(dir, "long.yaml")
	for name, duration := range map[string]string{small: "1s", long: "10h"} {
		text := strings.NewReplacer("duration: 24h", "duration: "+duration, "replicas: 500", "replicas: 1").
			Replace(busyNode)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args   []string
		signal syscall.Signal
		stderr string
		ready  func(stdin io.Writer, stdout *bufio.Reader) error // returns when the command is at work
	}{
		"simulation": {[]string{"run", file, "-o", "jsonl"}, syscall.SIGINT,
			"^probesim: interrupted at .* of 24h\n$", readAll},
		"terminated": {[]string{"run", file, "-o", "jsonl"}, syscall.SIGTERM,
			"^probesim: interrupted at .* of 24h\n$", readAll},
		"stuck output": {[]string{"run", file, "-o", "jsonl"}, syscall.SIGINT, "^probesim: interrupted.*\n$",
			readLine},
		"many runs": {[]string{"run", file, "-o", "lines", "--seed", "1..1000", "--parallel", "1000000",
			"--until", "100ms"}, syscall.SIGTERM, "^probesim: interrupted: .* of 1000 runs completed\n$", readAll},
		"explore": {[]string{"explore", small, long, "--policy", "canonical,restarts", "--witness", "none"},
			syscall.SIGINT, "^probesim: interrupted: [12] of 2 scenarios explored, the last one in part\n$", readAll},
		"manifest of stdin": {[]string{"init", "-f", "-"}, syscall.SIGTERM, "^probesim: interrupted\n$", writePipe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			cmd := exec.Command(program)
			cmd.Args = append([]string{"probesim"}, test.args...)
			if name != "stuck output" && name != "manifest of stdin" { // these two never end by themselves
				cmd.Env = append(os.Environ(), patienceVariable+"=5m")
			}
			cmd.Stderr = &stderr
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			out := bufio.NewReader(stdout)
			if err := test.ready(stdin, out); err != nil {
				t.Fatalf("%v; stderr is %q", err, stderr.String())
			}
			if err := cmd.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
				t.Errorf("the command ended with %v", err)
			}
			if got := stderr.String(); !regexp.MustCompile(test.stderr).MatchString(got) {
				t.Errorf("stderr is %q, want %s", got, test.stderr)
			}
		})
	}
}

// readLine waits for the first line of the output.
func readLine(_ io.Writer, stdout *bufio.Reader) error {
	_, err := stdout.ReadString('\n')
	return err
}

// readAll is like readLine, and reads the rest of the output in the background.
func readAll(_ io.Writer, stdout *bufio.Reader) error {
	_, err := stdout.ReadString('\n')
	go io.Copy(io.Discard, stdout)
	return err
}

// writePipe fills the pipe to stdin, which shows that the command reads it.
func writePipe(stdin io.Writer, _ *bufio.Reader) error {
	_, err := stdin.Write(bytes.Repeat([]byte("# comment\n"), 100_000/10))
	return err
}

const busyNode = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 500
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: example.com/web:1, readinessProbe: {exec: {command: [ready]}, periodSeconds: 1}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: node}
spec:
  duration: 24h
  pods: [{name: web, stagger: 0s}]
`
