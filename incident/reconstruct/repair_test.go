package reconstruct

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/long"
	"probesim.dev/trace"
)

// TestRepair checks reconstructions that no simple behavior explains: what single instances do differs, or only the time of another fact
// tells it.
func TestRepair(t *testing.T) {
	for i, test := range []struct{ name, spec, scenario, want string }{
		{"the exit code of one of the instances is recorded", `initContainers: [{name: init, image: "i:1"}], containers: [{name: app, image: "web:1"}]`,
			`duration: 1m, pods: [{name: web, containers: [{name: init, behavior: [{instance: ..1, after: 1.486s, exit: 137}]}]}]`, "exit: 137"},
		{"the kubelet dropped the warnings of the last instances", `containers: [{name: app, image: "app:1", readinessProbe: {grpc: {port: 5000}, periodSeconds: 6, failureThreshold: 100}, livenessProbe: {exec: {command: [up]}, periodSeconds: 4, failureThreshold: 100}}]`,
			`duration: 3m, pods: [{name: web, containers: [{name: app, behavior: [{instance: ..1, liveness: hang, readiness: UNKNOWN}, {instance: 2, readiness: down}, {instance: 3.., readiness: fail}, {after: 10s, exit: 0}]}]}]`,
			"liveness: hang"},
		{"the next start tells how long the stop took", `containers: [{name: app, image: "web:1", livenessProbe: {httpGet: {port: 80}, failureThreshold: 1, terminationGracePeriodSeconds: 300}}]`,
			`duration: 70s, pods: [{name: web, containers: [{name: app, behavior: [{instance: 0, after: 15s, liveness: fail}, {afterSigterm: 41s, exit: 0}]}]}]`, "afterSigterm: "},
		{"the last instance was killed at an age of which no failure tells", `containers: [{name: app, image: "web:1", livenessProbe: {httpGet: {port: 443}, initialDelaySeconds: 5, periodSeconds: 5}}, ` +
			`{name: cache, image: "web:1", startupProbe: {exec: {command: [up]}, periodSeconds: 5, failureThreshold: 29}}]`,
			`duration: 5m, pods: [{name: web, containers: [{name: app, behavior: [{after: 107s, liveness: fail}, {instance: ..1, for: 16s, liveness: fail}]}, {name: cache, behavior: [{startup: fail}]}]}]`, "liveness: fail"},
	} {
		if i%long.Sample(2, 1) != 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			text := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {" + test.spec + "}\n---\n" +
				"apiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {" + test.scenario + "}\n"
			r := reconstructed(t, simulatedText(t, text, 0))
			if !strings.Contains(string(r.Text), test.want) {
				t.Errorf("there is no %q in\n%s", test.want, r.Text)
			}
		})
	}
}

// TestSlower checks the answers of a startup probe that is slower or faster than in a run: those that took long, and those that did not.
func TestSlower(t *testing.T) {
	c := &v1.Container{Name: "app", StartupProbe: &v1.Probe{PeriodSeconds: 10}}
	for _, test := range []struct {
		word string
		by   time.Duration
		want string // nothing: an immediate answer
	}{
		{"", 700 * time.Millisecond, "startup: ok in 700ms"},
		{"ok in 2s", 700 * time.Millisecond, "startup: ok in 2.7s"},
		{"ok in 2s", -700 * time.Millisecond, "startup: ok in 1.3s"},
		{"ok in 2s", -2 * time.Second, ""},
		{"fail", time.Second, "startup: fail"},
	} {
		script := &script{c: c, lives: []lived{{took: time.Minute}}, series: map[trace.Probe][]asked{trace.Startup: {{at: 5 * time.Second, word: test.word}}}}
		m := &model{parts: []*part{{container: "app", what: string(trace.Startup)}}}
		slower(script, trace.Startup, test.by, "")(m)
		rules := m.parts[0].rules
		if got := len(rules) > 0; got != (test.want != "") || got && !strings.HasSuffix(rules[0].text, test.want) {
			t.Errorf("%q, later by %s: got %q, want %q", test.word, test.by, rules, test.want)
		}
	}
}
