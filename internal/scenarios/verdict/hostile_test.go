package verdict

import (
	"context"
	"strings"
	"testing"

	"probesim.dev/internal/githubrunner"
	"probesim.dev/scenarios"
)

const hostile = `
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: x, livenessProbe: {exec: {command: [a]}, failureThreshold: 1}}]}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: hostile}
spec:
  description: "\n::error::forged ##[error]forged"
  duration: 1m
  pods:
  - name: web
    containers:
    - name: app
      answers: [{name: bad, code: 1, body: "\r\n ::error::forged\n##[add-mask]forged\e[31m\u202e"}]
      behavior: [{after: 20s, liveness: bad}]
  expect:
  - {name: "::stop-commands::forged", never: .., record: {kind: ContainerStopping}}
  - {never: .., record: {kind: Event, message: "/##[e]|Liveness/"}}
`

// TestHostileText checks that failures of Go tests, which CI prints, contain no commands to
// GitHub's runner.
func TestHostileText(t *testing.T) {
	for _, name := range []string{"x.yaml", "a\n::error::forged.yaml", "::error::forged.yaml"} {
		all, err := scenarios.LoadBytes(name, []byte(hostile), nil)
		if err != nil {
			t.Fatal(err)
		}
		v := Of(context.Background(), all[0].Plans())
		for _, text := range []string{v.Failure, v.Timeline, strings.ReplaceAll(v.Failure, "\n", "\n    ")} {
			if !strings.Contains(text, "forged") {
				t.Errorf("the text of the file is missing:\n%s", text)
			}
			if found := githubrunner.Commands(text); len(found) > 0 || strings.ContainsAny(text, "\x1b\u202e\r") {
				t.Errorf("%q: commands %q in\n%s", name, found, text)
			}
		}
		_, err = scenarios.LoadBytes(name, []byte(strings.Replace(hostile, "pods:", "\"::error::forged##[x]\":", 1)),
			nil)
		if found := githubrunner.Commands("x:\n" + err.Error()); len(found) > 0 {
			t.Errorf("%q: commands %q in\n%s", name, found, err)
		}
	}
}
