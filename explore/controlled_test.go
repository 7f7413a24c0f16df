package explore_test

import (
	"slices"
	"strings"
	"testing"

	"probesim.dev/explore"
	"probesim.dev/internal/show/document"
)

// rolledOut is a rollout of two pods, which loses requests when an old program exits.
const rolledOut = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "web:1", readinessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 1}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: rolled-out}
spec:
  duration: 30s
  controlPlane: {}
  pods: [{name: web, containers: [{name: app, behavior: [{afterSigterm: 0s, exit: 0}]}]}]
  services: [{name: web}]
  traffic: [{service: web, rps: 100, latency: 10ms}]
  steps: [{at: 10s, rollout: {workload: web, restart: true}}]
  expect: [{within: 10s.., workload: web, becomes: {complete: true}}]
`

// TestControlPlane explores a rollout: the histories have the Deployment and the Service, and
// invariants are about the pods that the controllers create.
func TestControlPlane(t *testing.T) {
	r := exploreSubject(t, subject(t, rolledOut),
		explore.Options{Runs: 150, Deviations: 2,
			Policies: []string{"canonical", "restarts", "orders", "pairs", "meetings"}})
	want := []explore.ObjectHistory{
		{Object: "Deployment default/web",
			Events: []string{"rolling out", "complete", "rolling out", "complete", "fewest Ready: 2"}},
		{Object: "Service default/web by kube-proxy", Events: []string{"lost: exited", "lost: inFlight"}},
	}
	if got := r.Outcomes[0].History.Objects; !slices.EqualFunc(got, want, func(a, b explore.ObjectHistory) bool {
		return a.Object == b.Object && slices.Equal(a.Events, b.Events)
	}) {
		t.Errorf("the histories of objects are %q", got)
	}
	if p := r.Policies[1]; p.Policy != "orders" || p.Runs == 0 {
		t.Errorf("the policy after canonical is %+v", p)
	}
	if r.Periods["default/web-2-1"] == 0 {
		t.Errorf("the periods are %v", r.Periods)
	}
	for _, o := range r.Outcomes {
		if o.History.Error != "" {
			t.Errorf("%s: %s", o.ID, o.History.Error)
		}
	}
	var b strings.Builder
	if err := explore.Text(&b, r, explore.TextOptions{Options: document.Options{Width: 80}}); err != nil ||
		!strings.Contains(b.String(), "Controllers do not restart") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
