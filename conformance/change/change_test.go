package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func sorted(lines []string) []string {
	lines = slices.DeleteFunc(append([]string{}, lines...), func(s string) bool { return s == "" })
	slices.Sort(lines)
	return lines
}

const harness = "../v1.37"

// prober returns a directory with the package of probes of the release, after an edit.
func prober(t *testing.T, old, new string) string {
	t.Helper()
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	list.Dir = harness
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	const of = "pkg/kubelet/prober"
	from, dir := filepath.Join(strings.TrimSpace(string(out)), of), t.TempDir()
	names, err := sources(from)
	if err != nil {
		t.Fatal(err)
	}
	edits := 0
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		edits += strings.Count(string(data), old)
		if err := os.MkdirAll(filepath.Join(dir, of), 0o777); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), old, new)
		if err := os.WriteFile(filepath.Join(dir, of, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if edits != 1 {
		t.Fatalf("%q occurs %d times", old, edits)
	}
	return dir
}

// scenario is judged on the changed kubelet: the third failure of the liveness probe kills.
const scenario = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: "web:1", livenessProbe: {exec: {command: [up]}, periodSeconds: 10, failureThreshold: 3}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: killed}
spec:
  duration: 1m
  pods:
  - {name: web, containers: [{name: app, behavior: [{instance: 0, after: 5s, probes: fail}]}]}
  expect:
  - {name: the third failure kills, first: 28s..40s, record: {kind: ContainerStopping, reason: LivenessProbe}}
`

// TestChange builds kubelets with changes. It takes minutes, and much longer the first time.
func TestChange(t *testing.T) {
	if os.Getenv("PROBESIM_LONG") == "" {
		t.Skip("set PROBESIM_LONG=1 to build the kubelet with changes")
	}
	const threshold = "w.resultRun < int(w.spec.FailureThreshold)"
	early := prober(t, threshold, "w.resultRun+1 < int(w.spec.FailureThreshold)")
	comment := prober(t, "		w.resultRun++\n", "		// a comment\n		w.resultRun++\n")
	broken := prober(t, threshold, "w.nothing < int(w.spec.FailureThreshold)")
	crash := prober(t, "		w.resultRun++\n", "		panic(\"boom\")\n")
	file := filepath.Join(write(t, "killed.yaml", scenario), "killed.yaml")
	invalid := filepath.Join(write(t, "invalid.yaml", "kind: Scenario\n"), "invalid.yaml")
	page := filepath.Join(t.TempDir(), "page.html")
	some := []string{"--scenarios", "../../scenarios/library/quickstart", "--seeds", "1..12"}
	for _, test := range []struct {
		title       string
		args        []string
		code        int
		first, text string
	}{
		{"a threshold", append([]string{"--html", page, early}, some...), exitAlters, "The change alters 0 of 0 runs of bugs, ",
			"ContainerStopping LivenessProbe"},
		{"a comment", append([]string{comment}, some...), 0, "The change alters 0 of 0 runs of bugs, 0 of ", ""},
		{"a crash", append([]string{crash}, some...), exitAlters, "The change alters 0 of 0 runs of bugs, ", "panic: boom"},
		{"a failed build", append([]string{broken}, some...), exitBadInput, "", "does not compile"},
		{"good", []string{"--bisect", "--run", file, comment}, 0, "", ""},
		{"bad", []string{"--bisect", "--run", file, early}, exitAlters, "", "the third failure kills"},
		{"repeated", []string{"--repeat", "5", "--procs", "2", "--run", file, comment}, 0, "", "5"},
		{"a commit that does not compile", []string{"--bisect", "--run", file, broken}, exitSkip, "", "does not compile"},
		{"an invalid file", []string{"--bisect", "--run", invalid, comment}, exitSkip, "", "invalid.yaml"},
		{"a fault", []string{"--bisect", "--run", file, crash}, exitSkip, "", "panic: boom"},
		{"no kubelet", []string{"--bisect", "--run", file, t.TempDir()}, exitSkip, "", "is neither a checkout"},
	} {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), append([]string{"--harness", harness}, test.args...), &stdout, &stderr)
		if code != test.code || !strings.HasPrefix(stdout.String(), test.first) ||
			!strings.Contains(stdout.String()+stderr.String(), test.text) {
			t.Errorf("%s: exit code %d\n%s\n%s", test.title, code, stdout.String(), stderr.String())
		}
		t.Logf("%s: %s", test.title, stdout.String())
	}
	if data, err := os.ReadFile(page); err != nil || !bytes.Contains(data, []byte("ContainerStopping LivenessProbe")) {
		t.Errorf("the page: %v", err)
	}
}

// TestInterrupt checks that nothing is left of a command that is interrupted.
func TestInterrupt(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	dir := write(t, "pkg/kubelet/prober/worker.go", "package prober\n")
	var stdout, stderr bytes.Buffer
	if code := execute(ctx, []string{"--harness", harness, dir}, &stdout, &stderr); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
}
