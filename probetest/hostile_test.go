package probetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/types"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestHostileText checks that messages of matchers, which CI prints, contain no commands to
// GitHub's runner.
func TestHostileText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "::error::forged\n::error::x.yaml")
	if err := os.WriteFile(path, []byte(hostileScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	pod := RunScenario(t, path, "hostile", ScenarioOptions{}).Pod("web")
	for _, m := range []types.GomegaMatcher{
		HaveEvent("Unhealthy"), HaveEvent("Unhealthy").WithMessage("##[error]\n::error::x"), HaveRestarted(),
		HaveBeenProbed("liveness"),
		HaveBeenKilledBecauseOf("LivenessProbe"), HaveBecomeReady().Within(time.Second),
	} {
		if _, err := m.Match(pod); err != nil {
			t.Error(err)
			continue
		}
		for _, text := range []string{m.FailureMessage(pod), m.NegatedFailureMessage(pod)} {
			if found := githubrunner.Commands(strings.ReplaceAll(text, "\n", "\n    ")); len(found) > 0 ||
				strings.ContainsAny(text, "\x1b\u202e\r") {
				t.Errorf("commands %q in\n%s", found, text)
			}
		}
	}
}

// TestHostileName checks that the failure for an invalid pod shows its name as it shows other
// invalid values.
func TestHostileName(t *testing.T) {
	fake := newFakeT(t)
	NewNode(fake, NodeOptions{}).AddPod(pod("\x1b[2J\n::error::forged", v1.Container{Name: "app", Image: "a"}))
	if len(fake.failures) != 1 || !strings.HasPrefix(fake.failures[0],
		`the Pod \x1b[2J\n::error::forged cannot be added:`) {
		t.Errorf("failures %q", fake.failures)
	}
}

// TestDroppedFields checks that messages name the fields that the API server drops.
func TestDroppedFields(t *testing.T) {
	n := NewNode(t, NodeOptions{Kubernetes: "v1.34"})
	pod := n.AddPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{
		{Name: "app", Image: "x", RestartPolicy: new(v1.ContainerRestartPolicyNever)}}}})
	n.Advance(time.Minute)
	m := HaveRestarted()
	if ok, err := m.Match(pod); ok || err != nil {
		t.Fatal(ok, err)
	}
	want := "\nNote: the API server of v1.34 drops spec.containers[0].restartPolicy of pod web, because the feature " +
		"gate ContainerRestartRules is off"
	if got := m.FailureMessage(pod); strings.Count(got, want) != 1 {
		t.Errorf("the note is missing:\n%s", got)
	}
	if got := n.String(); !strings.Contains(got, want) {
		t.Errorf("the note is missing:\n%s", got)
	}
}
