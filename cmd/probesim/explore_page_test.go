package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// explored explores a scenario with a race and returns the address of the page.
func explored(t *testing.T, scenario string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "race.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := []string{"explore", file, "-o", "html", "--policy", "canonical,orders", "--witness",
		filepath.Join(t.TempDir(), "witnesses")}
	if code := execute(t.Context(), args, &out, &errs); code != exitFailed {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	return written(t, out.String())
}

const racing = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1", readinessProbe: {exec: {command: [ready]}, periodSeconds: 5}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: race}
spec:
  duration: 20s
  pods: [{name: web}]
  expect: [{name: NAME, first: 0s..4s, becomes: {ready: true}}]
`

// TestExplorePage checks that the page of explore has the run of each outcome, with where it parts
// from the run as written, what fails, and the command that replays it.
func TestExplorePage(t *testing.T) {
	b := openBrowser(t, 1280, 900)
	b.open(explored(t, strings.Replace(racing, "NAME", "ready at once", 1)))
	for _, want := range []string{
		"race ba406cabcf5f", "race a06d459d67c1", "72 of 78 runs; the first: as written",
		`6 of 78 runs; the first: at 309.9ms: "readiness triggered, status not stored`,
		"parts from the run as written at 0.330s, which has ProbeExecuted default/web app readiness success at " +
			"0.330s; this run has StatusPatched default/web at 5.343s",
		"expectation failed: ready at once",
	} {
		b.want("main", want)
	}
	if text := b.text("body"); !strings.Contains(text, "witnesses/race-a06d459d67c1.json") {
		t.Errorf("the page does not name the witness: %.2000s", text)
	}
	b.shot("explore", "")
	b.clean()
}

// TestExplorePageOfHostileFile checks that the text of a file cannot inject anything.
func TestExplorePageOfHostileFile(t *testing.T) {
	onlyLong(t)
	b := openBrowser(t, 1280, 900)
	b.open(explored(t, strings.Replace(racing, "NAME", `"<img src=x onerror=alert(1)><script>alert(2)</script>"`, 1)))
	b.want("main", "expectation failed: <img src=x onerror=alert(1)>")
	b.clean()
}
