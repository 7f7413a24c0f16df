package ginkgokit

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"probesim.dev/explore"
)

const raceFile = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1", livenessProbe: {exec: {command: [live]}, failureThreshold: 1}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: race}
spec:
  duration: 25s
  pods: [{name: web, containers: [{name: app, behavior: [{after: 9s, for: 500ms, liveness: fail}]}]}]
  expect: [{name: no restart, never: .., record: {kind: ContainerStopping}}]
`

func exploreRace(t *testing.T, o ExploreOptions) (*Exploration, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("race.yaml", []byte(raceFile), 0o600); err != nil {
		t.Fatal(err)
	}
	return exploreScenario(context.Background(), "race.yaml", "race", o)
}

func TestMatchersOverOutcomes(t *testing.T) {
	found, err := exploreRace(t, ExploreOptions{Options: explore.Options{Policies: []string{"canonical", "moves",
		"phases"}}, JudgeAll: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		matcher types.GomegaMatcher
		want    bool
	}{
		{"always ready", Always(BecomeReady("web")), true},
		{"sometimes ready", Sometimes(BecomeReady("default/web")), true},
		{"never ready", Never(BecomeReady("")), false},
		{"always ready, of another pod", Always(BecomeReady("shop")), false},
		{"sometimes a stop", Sometimes(Stop("app", "LivenessProbe")), true},
		{"always a stop", Always(Stop("app", "")), false},
		{"never a stop", Never(Stop("", "LivenessProbe")), false},
		{"never a stop for another reason", Never(Stop("app", "StartupProbe")), true},
		{"never a stop of another container", Never(Stop("proxy", "")), true},
		{"sometimes a restart", Sometimes(Restart("app")), true},
		{"always a restart", Always(Restart("")), false},
		{"never a failed expectation", Never(FailExpectation("")), false},
		{"sometimes this expectation", Sometimes(FailExpectation("no restart")), true},
		{"sometimes another expectation", Sometimes(FailExpectation("other")), false},
		{"never a broken invariant", Never(BreakInvariant("")), true},
		{"never this invariant", Never(BreakInvariant("kill-needs-failures")), true},
		{"a matcher of Gomega", Always(gomega.HaveField("Count", gomega.BeNumerically(">", 0))), true},
	} {
		got, err := test.matcher.Match(found)
		if err != nil || got != test.want {
			t.Errorf("%s: %t, %v, want %t", test.name, got, err, test.want)
		}
	}
	for want, m := range map[string]types.GomegaMatcher{
		`[(always stop container "app" because of "LivenessProbe")]`: gomega.Or(Always(Stop("app", "LivenessProbe"))),
		`[(never HaveField("Count", BeNumerically(">", 0)))]`: gomega.Or(
			Never(gomega.HaveField("Count", gomega.BeNumerically(">", 0)))),
		`(restart container "")]`: Always(gomega.Or(FailExpectation("x"), Restart(""))),
	} {
		if ok, err := m.Match(found); ok || err != nil || !strings.Contains(m.FailureMessage(found), want) ||
			strings.Contains(m.FailureMessage(found), "History") {
			t.Errorf("%t, %v, want %s in the message:\n%s", ok, err, want, m.FailureMessage(found))
		}
	}
	m := Never(Stop("app", "LivenessProbe"))
	m.Match(found)
	message := m.FailureMessage(found)
	for _, want := range []string{"outcomes of race", "never to match", "spec.pods[0].containers[0].behavior[0].",
		`not to stop container "app" because of "LivenessProbe"`, "default/web/app: start 0, stop LivenessProbe",
		"probesim replay witnesses/race-"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q:\n%s", want, message)
		}
	}
	if files, _ := filepath.Glob("witnesses/race-*.json"); len(files) == 0 {
		t.Error("no witness was written")
	}
}

func TestExploreMisuse(t *testing.T) {
	if _, err := Always(Restart("")).Match("text"); err == nil ||
		!strings.Contains(err.Error(), "is about the result of ginkgokit.Explore, not string") {
		t.Errorf("the error is %v", err)
	}
	if _, err := Restart("").Match("text"); err == nil || !strings.Contains(err.Error(), "use it in Always") {
		t.Errorf("the error is %v", err)
	}
	found, err := exploreRace(t, ExploreOptions{Options: explore.Options{Policies: []string{"luck"}}})
	if err == nil || !strings.Contains(err.Error(), `no policy "luck"`) {
		t.Errorf("the error is %v", err)
	}
	if _, err := Never(nil).Match(&Exploration{Result: &explore.Result{}}); err == nil ||
		!strings.Contains(err.Error(), "needs a matcher") {
		t.Errorf("the error is %v for %v", err, found)
	}
	for name, want := range map[string]string{"rice": `race.yaml has no scenario "rice" (did you mean "race"?); its ` +
		`scenarios are: race`} {
		if _, err := exploreScenario(context.Background(), "race.yaml", name, ExploreOptions{}); err == nil ||
			err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	if _, err := exploreScenario(context.Background(), "none.yaml", "race", ExploreOptions{}); err == nil {
		t.Error("a file that does not exist is explored")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := exploreScenario(ctx, "race.yaml", "race", ExploreOptions{}); err == nil {
		t.Error("an exploration that was canceled succeeds")
	}
}
