package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// incidentOf writes a recording, and returns the address of the page of its incident.
func incidentOf(t *testing.T, recording string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(file, []byte(recording), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"incident", file, "-o", "html"}, &out, &errs); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	return written(t, out.String())
}

// TestIncidentPage checks the page of an incident: the verdict, and below it the recording with
// what is not recorded.
func TestIncidentPage(t *testing.T) {
	b := openBrowser(t, 1280, 900)
	b.open(incidentOf(t, restarted+"---\nkind: Event\nmetadata: {name: web.2}\nreason: Started\ninvolvedObject: "+
		"{kind: Pod}\n"))
	b.want("main > :first-child", "killed by its liveness probe")
	b.want("pre.text", "pod.yaml:")
	if n := b.count("section h2"); n != 1 {
		b.t.Errorf("%d verdicts, want 1", n)
	}
	const shown = "details"
	b.want("p.warn", "the event was not used: it does not name its pod")
	b.want(shown, "not recorded")
	if n := b.count(shown + " svg [class*=unknown]"); n == 0 {
		b.t.Error("nothing is hatched")
	}
	b.shot("incident-light", "body")
	b.scheme("dark")
	b.shot("incident-dark", "body")
	b.resize(500, 900)
	b.fits()
	b.shot("incident-narrow", "body")
	b.clean()
}
