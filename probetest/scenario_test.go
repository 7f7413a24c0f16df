package probetest

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

func TestRunScenario(t *testing.T) {
	gomega.RegisterTestingT(t)
	const file = "testdata/suite/web.yaml"
	run := RunScenario(file, "slow-start", ScenarioOptions{})
	gomega.Expect(run.Pod("web")).To(HaveBecomeReady().Between(20*time.Second, 30*time.Second))
	gomega.Expect(run.Pods()).To(gomega.HaveEach(gomega.Not(HaveRestarted())))

	seeded := HaveRestarted()
	gomega.Expect(seeded.Match(RunScenario("testdata/suite", "seeds", ScenarioOptions{Kubernetes: "v1.36.3", Seed: new(int64(9))}).Pod("default/web"))).To(gomega.BeFalse())
	gomega.Expect(seeded.FailureMessage(nil)).To(gomega.HaveSuffix(`Kubernetes v1.36.3, seed 9, run to 60.000s
To repeat this run, execute in the directory of the test:
  probesim run testdata/suite/web.yaml --run '^seeds$' --kubernetes v1.36.3 --seed 9`))
	seeded.Match(RunScenario(file, "seeds", ScenarioOptions{}).Pod("web"))
	gomega.Expect(seeded.FailureMessage(nil)).To(gomega.ContainSubstring("Kubernetes v1.37.0, seed 1, run to"))
}

func TestRunScenarioRefused(t *testing.T) {
	const file = "testdata/suite/web.yaml"
	for _, test := range []struct {
		do   func()
		want string
	}{
		{func() { RunScenario("testdata/broken", "bad", ScenarioOptions{}) }, "nothing was run\ntestdata/broken/bad.yaml:4:22: spec.pods[0].name"},
		{func() { RunScenario(file, "slow", ScenarioOptions{}) }, `there is no scenario "slow" in testdata/suite/web.yaml; there are: slow-start, seeds`},
		{func() { RunScenario(file, "seeds", ScenarioOptions{Kubernetes: "1.37"}) }, "there is no profile of Kubernetes 1.37; known: v1.34.4, "},
		{func() { RunScenario(file, "seeds", ScenarioOptions{}).Pod("app") }, `the scenario has no pod "app"; there are: web`},
		{func() { RunScenario(file, "seeds", ScenarioOptions{}).Pod("web").Delete() }, "the run of web is over"},
	} {
		failed := failures(t)
		test.do()
		if got := strings.Join(*failed, "\n"); !strings.HasPrefix(got, test.want) {
			t.Errorf("failed with %q, want %q", got, test.want)
		}
	}
}
