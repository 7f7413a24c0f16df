package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"probesim.dev/internal/scenarios/whatif"
)

// sentences are the words of --app that help texts, docs, scripts and findings recommend.
func sentences(t *testing.T) []string {
	t.Helper()
	found := []string{"refuse 0s, stop 3s", "start never", "refuse never", "stop never", "delete at 10m",
		"scale 5 at 2m", "undo at 2m",
		"web/app=start 45s..1m10s", "app=stop 3s..8s", "kubelet down 10s at 10m", "web/app=http:80/ ok in 1.5s at 5m",
		"exit 1 2m at 5m"}
	quoted := regexp.MustCompile(`--app\s+'([^']+)'`)
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "../../README.md", "testdata/script/help.txtar", "testdata/script/check.txtar",
		"testdata/script/formula.txtar")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			found = append(found, strings.Join(strings.Fields(m[1]), " "))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestSentences checks that all commands with --app read each recommended sentence, and that those
// that compute point to run for what they do not compute.
func TestSentences(t *testing.T) {
	for _, sentence := range sentences(t) {
		events, err := whatif.Parse([]string{sentence})
		if err != nil {
			t.Errorf("run, why, diff: %v", err)
			continue
		}
		f := wordFlags{app: []string{sentence}}
		if _, _, err := f.rolledOut(); err != nil {
			t.Errorf("rollout: %v", err)
		}
		computed := !slices.ContainsFunc(events,
			func(e *whatif.Event) bool { return e.Never || e.What != whatif.Start && e.What != whatif.Stop })
		if _, _, err := f.timed(); (err == nil) != computed ||
			err != nil && !strings.Contains(err.Error(), "'probesim run MANIFEST --app") {
			t.Errorf("check, tune, compare: %s: %v", sentence, err)
		}
	}
	tuned := wordFlags{app: []string{"refuse 0s, start never"}, runs: true}
	if _, _, err := tuned.timed(); err != nil {
		t.Errorf("tune with a requirement on rollouts: %v", err)
	}
	for _, name := range []string{"run", "why", "diff", "rollout", "check", "tune", "compare"} {
		cmd, _, err := newRoot(io.Discard, io.Discard).Find([]string{name})
		for _, flag := range []string{"app", "start", "stop"} {
			if err != nil || cmd.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no --%s: %v", name, flag, err)
			}
		}
	}
	var f wordFlags
	cmd := &cobra.Command{}
	f.addTo(cmd, appUsage)
	if err := cmd.ParseFlags([]string{"--start", "40s..70s, envoy=1s..3s", "--stop", "app=3s", "--app",
		"hang at 1m"}); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(f.words(), "; "),
		"start 40s..70s; envoy=start 1s..3s; app=stop 3s; hang at 1m"; got != want {
		t.Errorf("the words are %s, want %s", got, want)
	}
}
