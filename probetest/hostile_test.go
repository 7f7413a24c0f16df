package probetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/types"

	"probesim.dev/internal/githubrunner"
)

const hostileScenario = `
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: x, livenessProbe: {exec: {command: [a]}, failureThreshold: 1}}]}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: hostile}
spec:
  duration: 1m
  pods:
  - name: web
    containers:
    - name: app
      answers: [{name: bad, code: 1, body: "\r\n ::error::forged\n##[add-mask]forged\e[31m\u202e"}]
      behavior: [{after: 20s, liveness: bad}]
`

// TestHostileText checks that messages of matchers, which CI prints, contain no commands to GitHub's runner.
func TestHostileText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "::error::forged\n::error::x.yaml")
	if err := os.WriteFile(path, []byte(hostileScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	pod := RunScenario(t, path, "hostile", ScenarioOptions{}).Pod("web")
	for _, m := range []types.GomegaMatcher{
		HaveEvent("Unhealthy"), HaveEvent("Unhealthy").WithMessage("##[error]\n::error::x"), HaveRestarted(), HaveBeenProbed("liveness"),
		HaveBeenKilledBecauseOf("LivenessProbe"), HaveBecomeReady().Within(time.Second),
	} {
		if _, err := m.Match(pod); err != nil {
			t.Error(err)
			continue
		}
		for _, text := range []string{m.FailureMessage(pod), m.NegatedFailureMessage(pod)} {
			if found := githubrunner.Commands(strings.ReplaceAll(text, "\n", "\n    ")); len(found) > 0 || strings.ContainsAny(text, "\x1b\u202e\r") {
				t.Errorf("commands %q in\n%s", found, text)
			}
		}
	}
}
