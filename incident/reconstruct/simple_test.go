package reconstruct

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"probesim.dev/internal/long"
)

// TestSimple checks that incidents with one cause get a behavior with few rules, also if the kubelet retries starts after random delays, which
// the seed draws.
func TestSimple(t *testing.T) {
	const liveness = `livenessProbe: {httpGet: {path: /live, port: 80}, initialDelaySeconds: 30}`
	const both = liveness + `, readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 5}`
	for i, test := range []struct {
		name, probes, rules string
		until               time.Duration
		want                []string // patterns of all rules, in order
	}{
		{"hangs at the same age", both, `{after: 120s, probes: hang}, {afterSigterm: 1s, exit: 0}`, 20 * time.Minute, []string{`after: \S+, probes: hang`, `afterSigterm: 1s, exit: 0`}},
		{"ignores the stop signal", both, `{after: 182s, probes: hang}, {afterSigterm: 0s, exit: never}`, 680 * time.Second, []string{`after: \S+, probes: hang`, `afterSigterm: 0s, exit: never`}},
		{"never up in time", both, `{for: 70s, probes: down}`, 10 * time.Minute, []string{`for: \S+, probes: down`}},
		{"an outage", both, `{at: 5m, for: 2m, probes: down}`, 15 * time.Minute, []string{`at: \S+, for: \S+, probes: down`}},
		{"exits at first, and hangs later", both, `{after: 95s, liveness: hang}, {instance: ..3, after: 8s, exit: 0}, {afterSigterm: 3s, exit: 1}`, 10 * time.Minute,
			[]string{`instance: ..3, after: \S+, exit: 1`, `afterSigterm: \S+, exit: 1`, `(after|at): .*, liveness: hang`}}, // both explain the recording
		{"crashes at the same age", liveness, `{after: 20s, exit: 1}`, 15 * time.Minute, []string{`after: \S+, exit: 1`}},
	} {
		if i%long.Sample(3, 1) != 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			text := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: "web:1", %s}]}}
---
{apiVersion: probesim.dev/v1alpha1, kind: Scenario, metadata: {name: s}, spec: {kubernetesVersions: [v1.34.4], seeds: 3, duration: 21m, pods: [{name: web, containers: [{name: app, behavior: [%s]}]}]}}
`, test.probes, test.rules)
			rules := reconstructed(t, simulatedText(t, text, test.until)).Behavior()
			same := len(rules) == len(test.want)
			for i := range min(len(rules), len(test.want)) {
				same = same && regexp.MustCompile("^"+test.want[i]+"$").MatchString(rules[i].Text)
			}
			if !same {
				t.Errorf("the behavior is %v, want %q", rules, test.want)
			}
		})
	}
}
