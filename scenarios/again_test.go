package scenarios

import (
	"strings"
	"testing"
)

// TestManifests loads scenarios with manifests that were read before, and again after an error in a scenario.
func TestManifests(t *testing.T) {
	manifest := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: app, image: 'web:1', livenessProbe: {exec: {command: [up]}}}]}\n"
	scenario := "apiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {pods: [{name: web, containers: [{name: app, behavior: [{at: 5s, BEHAVIOR}]}]}]}\n"
	m, err := ReadManifests("m.yaml", []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	for _, behavior := range []string{"liveness: fail", "exit: 1"} {
		text := strings.Replace(scenario, "BEHAVIOR", behavior, 1)
		again, err := m.LoadBytes("m.yaml", []byte(text))
		if err != nil || len(again) != 1 {
			t.Fatalf("%d scenarios, %v", len(again), err)
		}
		whole, err := LoadBytes("m.yaml", []byte(manifest+"---\n"+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, want := again[0].Plans()[0].Pods(), whole[0].Plans()[0].Pods()
		if len(got) != 1 || len(want) != 1 || got[0].Pod.String() != want[0].Pod.String() {
			t.Errorf("%s: got the pods %v, want %v", behavior, got, want)
		}
	}
	_, err = m.LoadBytes("m.yaml", []byte(strings.Replace(scenario, "BEHAVIOR", "readiness: fail", 1)))
	if err == nil || !strings.Contains(err.Error(), "readiness") {
		t.Errorf("a rule about a probe that the container does not have: %v", err)
	}
	if _, err := ReadManifests("m.yaml", []byte(strings.Replace(manifest, "exec:", "exek:", 1))); err == nil {
		t.Error("a wrong manifest has no error")
	}
}
