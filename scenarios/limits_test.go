package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"probesim.dev/scenarios/format"
)

const scenarioHead = "---\napiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  pods: " +
	"[{name: web}]\n  "

// TestFileLimits loads files that exceed the limits. Each must be rejected quickly.
func TestFileLimits(t *testing.T) {
	list := func(name, item string) string {
		return name + ": [" + strings.Repeat(item+", ", format.MaxEntries+1) + "]"
	}
	large := "\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: rs}\nspec: {selector: {matchLabels: {a: b}}, " +
		"template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x, args: [" +
		strings.Repeat("a,", 1000) + "]}]}}}\n"
	var probed [8]string
	for i := range probed {
		probe := "{exec: {command: [a]}}"
		probed[i] = fmt.Sprintf("{name: c%d, image: x, livenessProbe: %s, readinessProbe: %s, startupProbe: %s}", i,
			probe, probe, probe)
	}
	for _, test := range []struct{ name, text, want string }{
		{"pods", strings.ReplaceAll(podYAML+scenarioHead, "pods: [{name: web}]", list("pods", "{name: web}")),
			"spec.pods: has more than 1000 entries"},
		{"steps", podYAML + scenarioHead + list("steps", "{at: 5s, delete: {}}"),
			"spec.steps: has more than 1000 entries"},
		{"expectations", podYAML + scenarioHead + list("expect", "{at: 5s, status: {ready: true}}"),
			"spec.expect: has more than 1000 entries"},
		{"rules", strings.ReplaceAll(podYAML+scenarioHead, "{name: web}]", "{name: web, containers: [{name: app, "+
			list("behavior", "{exit: 1}")+"}]}]"),
			"spec.pods[0].containers[0].behavior: has more than 1000 entries"},
		{"a long series", strings.ReplaceAll(podYAML+scenarioHead, "{name: web}]",
			"{name: web, containers: [{name: app, behavior: [{liveness: ["+strings.Repeat("ok,", 10_001)+"]}]}]}]"),
			"spec.pods[0].containers[0].behavior[0].liveness: the series has more than 10000 items"},
		{"objects", manyScenarios(10_001, func(int) string {
			return ""
		}), "items[10000]: the file has more than 10000 objects"},
		{"files", strings.ReplaceAll(scenarioHead, "pods: [{name: web}]", "pods: [{name: web, file: a}]") +
			manyScenarios(maxFiles, func(i int) string {
				return fmt.Sprintf("{name: web, file: f%d}", i)
			}), "items[999].spec.pods[0].file: cannot be read: the scenarios use manifests from more than 1000 files"},
		{"copies of a large pod", large + strings.ReplaceAll(scenarioHead, "{name: web}", "{name: rs, replicas: 2000}"),
			"spec.pods: uses manifests with more than 2000000 values in total, counted for each pod"},
		{"pods with many probes", `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: rs}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [` + strings.Join(
			probed[:], ", ") + "]}}}\n" +
			strings.ReplaceAll(scenarioHead, "{name: web}", "{name: rs, replicas: 10000}"),
			"spec.pods: contains more than 150000 pods, containers and probes in total"},
		{"uses of a large pod", large + manyScenarios(4000, func(int) string { return "{name: rs}" }),
			"spec.pods[0]: the manifests that the scenarios of this file use have more than 4000000 values in total, " +
				"counted at each use"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := LoadBytes("s.yaml", []byte(test.text),
				func(string) ([]byte, error) { return []byte(podYAML), nil })
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is\n%.2000v\nwant\n%s", err, test.want)
			}
		})
	}
}

// manyScenarios returns a list of scenarios with one pod each.
func manyScenarios(count int, pod func(int) string) string {
	var b strings.Builder
	b.WriteString("\n---\napiVersion: probesim.dev/v1alpha1\nkind: ScenarioList\nitems:\n")
	for i := range count {
		fmt.Fprintf(&b, "- {metadata: {name: s%d}, spec: {pods: [%s]}}\n", i, pod(i))
	}
	return b.String()
}
