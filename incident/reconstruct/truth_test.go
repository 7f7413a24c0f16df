package reconstruct

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"probesim.dev/incident/cluster"
	"probesim.dev/internal/long"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/random"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var truths = flag.Int("truths", long.Sample(30, 300), "the number of random scenarios of TestTruthMeetsItsClaims")
var truthsFrom = flag.Int("truths-from", 1, "the first seed")

// TestTruthMeetsItsClaims checks that a run meets each claim that is read from its own recording. No reconstruction could be complete
// otherwise.
func TestTruthMeetsItsClaims(t *testing.T) {
	claims, failed := 0, map[string]int{}
	for seed := *truthsFrom; seed < *truthsFrom+*truths; seed++ {
		n, unmet := truth(t, random.Scenario(uint64(seed)))
		late, unmetLate := truth(t, random.Options{Late: true}.Scenario(uint64(seed)))
		claims, unmet = claims+n+late, append(unmet, unmetLate...)
		for _, c := range unmet {
			key := string(c.Fact.Kind) + " " + c.Fact.Reason
			failed[key]++
			t.Errorf("seed %d: %s %s: %s {%s}: %s", seed, c.Fact.Pod.Name, c.Fact.Place, c.Says, c.expect, c.Reason)
		}
	}
	if claims == 0 {
		t.Error("there are no claims")
	}
	t.Logf("%d claims", claims)
	for _, k := range slices.Sorted(maps.Keys(failed)) {
		t.Logf("%5d %s", failed[k], k)
	}
}

// truth returns the number of claims about the recording of a run, and those that the run itself does not meet.
func truth(t *testing.T, scenario []byte) (int, []Claim) {
	t.Helper()
	loaded, err := scenarios.LoadBytes("random.yaml", scenario, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := loaded[0].Plans()[0]
	run := simulate.Run(context.Background(), plan, simulate.Options{Until: virtual.At(plan.Duration + time.Minute)})
	if run.Err != nil {
		t.Fatal(run.Err)
	}
	return unmetByTruth(t, plan, run, plan.Duration)
}

// unmetByTruth returns the number of claims about the recording of a run at a time, and those that the run itself does not meet.
func unmetByTruth(t *testing.T, plan *scenarios.Plan, run *simulate.Result, end time.Duration) (n int, unmet []Claim) {
	t.Helper()
	rec := record(t, plan, run, virtual.At(end))
	for _, pod := range rec.Pods {
		m, err := newModel(rec, pod)
		if errors.Is(err, ErrNothing) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claimsOfTruth(t, m, run.Records, end) {
			n++
			if !c.Holds {
				unmet = append(unmet, c)
			}
		}
	}
	return n, unmet
}

// claimsOfTruth returns the claims about a pod, and whether the run that was recorded meets them.
func claimsOfTruth(t *testing.T, m *model, records []trace.Record, end time.Duration) []Claim {
	t.Helper()
	m.since = end - max(m.end.Sub(cluster.Zero), time.Second) // the status is that of the end
	a := &attempt{zero: cluster.Zero}
	s := &search{model: m}
	if err := s.loadText(a); err != nil {
		t.Fatal(err)
	}
	key := m.pod.Namespace + "/" + m.pod.Name
	of := slices.DeleteFunc(slices.Clone(records), func(r trace.Record) bool { return r.Pod != "" && r.Pod != key })
	results, err := expect.Check(a.plan, expect.Run{Records: of, End: virtual.At(a.plan.Duration)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.claims {
		a.claims[i].Holds = results[i].Outcome == expect.Held
		if len(results[i].Failures) > 0 {
			a.claims[i].Reason = results[i].Failures[0].Got
		}
	}
	return a.claims
}

// TestTruthOfLostContainers checks the claims about a container that the runtime lost, at many times after the loss: its restartCount and
// the number of its instance differ then.
func TestTruthOfLostContainers(t *testing.T) {
	for _, policy := range []string{"Always", "OnFailure", "Never"} {
		text := fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: %s
  containers: [{name: app, image: "web:1", readinessProbe: {exec: {command: [up]}, periodSeconds: 1}}]
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 2m
  pods: [{name: web, containers: [{name: app, behavior: [{instance: 1.., after: 3s, exit: 2}]}]}]
  steps: [{at: 5.3s, kill: {pod: web, container: app, remove: true}}]
`, policy)
		loaded, err := scenarios.LoadBytes("lost.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		plan := loaded[0].Plans()[0]
		run := simulate.Run(context.Background(), plan, simulate.Options{Until: virtual.At(plan.Duration + time.Minute)})
		if run.Err != nil {
			t.Fatal(run.Err)
		}
		for at := 5 * time.Second; at < 20*time.Second; at += 100 * time.Millisecond {
			_, unmet := unmetByTruth(t, plan, run, at)
			for _, c := range unmet {
				t.Errorf("%s, at %s: %s {%s}: %s", policy, at, c.Says, c.expect, c.Reason)
			}
		}
	}
}
