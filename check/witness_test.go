package check_test

import (
	"context"
	"strings"
	"testing"

	"probesim.dev/check"
)

// Workloads of two files can have one name. Their scenarios have different names, so that no file replaces another one.
func TestWitnessesHaveNamesOfTheirOwn(t *testing.T) {
	web := pod("livenessProbe: {grpc: {port: 80}, periodSeconds: 1, failureThreshold: 1}")
	c, err := check.New([]check.File{{Name: "a.yaml", Data: []byte(web)}, {Name: "b.yaml", Data: []byte(web)}}, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Tasks() {
		if err := c.Do(context.Background(), i); err != nil {
			t.Fatal(err)
		}
	}
	list, missing, err := c.Witnesses(context.Background())
	if err != nil || len(missing) > 0 || len(list) == 0 || len(list)%2 != 0 {
		t.Fatalf("%d scenarios, missing %q, error %v", len(list), missing, err)
	}
	seen := map[string]bool{}
	for _, w := range list {
		if seen[w.Name] {
			t.Errorf("two scenarios have the name %s", w.Name)
		}
		seen[w.Name] = true
	}
}

// TestWitnessOfAFinding checks that the scenarios of a finding exist.
func TestWitnessOfAFinding(t *testing.T) {
	manifest := pod("livenessProbe: {tcpSocket: {port: 80}, initialDelaySeconds: 2, periodSeconds: 3, failureThreshold: 2}")
	c, err := check.New([]check.File{{Name: "web.yaml", Data: []byte(manifest)}}, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Do(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	list, _, err := c.Witnesses(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, f := range c.Report().Workloads[0].Containers[0].Findings {
		for _, w := range list {
			if f.Witness != "" && strings.HasPrefix(w.Name, f.Witness) {
				shown++
			}
		}
	}
	if shown != 2 {
		t.Errorf("%d scenarios show the short restart, want those on both sides of the limit", shown)
	}
}
