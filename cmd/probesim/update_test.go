package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"probesim.dev/internal/runner"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

const observedScenario = `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: x}]}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: web}
spec:
  pods: [{name: web}]
  expect: [{observed: true, first: .., becomes: {ready: true}}]
`

// TestUpdateOfBrokenRuns checks that --update writes no file if a run fails or is interrupted.
func TestUpdateOfBrokenRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(path, []byte(observedScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	all, err := scenarios.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		ctx     context.Context
		version string
		code    int
	}{
		{context.Background(), "v0.1.0", exitBroken},
		{done, "v1.37", exitInterrupted},
		{context.Background(), "v1.37", exitOK},
	} {
		jobs := []*runner.Job{}
		for _, version := range []string{"v1.37", test.version} {
			plan := all[0].Plan(version, nil)
			jobs = append(jobs, &runner.Job{Plan: plan, Until: virtual.At(plan.Duration)})
		}
		cmd := newRoot(&bytes.Buffer{}, &bytes.Buffer{})
		cmd.SetContext(test.ctx)
		err := (&runOptions{parallel: 1}).updateFiles(cmd, jobs)
		code := exitOK
		if coded := (*exitError)(nil); errors.As(err, &coded) {
			code = coded.code
		}
		text, _ := os.ReadFile(path)
		if code != test.code || (string(text) != observedScenario) != (code == exitOK) {
			t.Errorf("%s: %v, and the file is\n%s", test.version, err, text)
		}
	}
}
