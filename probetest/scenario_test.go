package probetest

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

func TestRunScenario(t *testing.T) {
	gomega.RegisterTestingT(t)
	const file = "testdata/suite/web.yaml"
	run := RunScenario(t, file, "slow-start", ScenarioOptions{})
	gomega.Expect(run.Pod("web")).To(HaveBecomeReady().Between(20*time.Second, 30*time.Second))
	gomega.Expect(run.Pods()).To(gomega.HaveEach(gomega.Not(HaveRestarted())))

	seeded := HaveRestarted()
	gomega.Expect(seeded.Match(RunScenario(t, "testdata/suite", "seeds",
		ScenarioOptions{Kubernetes: "v1.36", Seed: new(int64(9))}).Pod("default/web"))).To(gomega.BeFalse())
	gomega.Expect(seeded.FailureMessage(nil)).To(gomega.HaveSuffix(`Kubernetes v1.36, seed 9, run to 60.000s
To repeat this run, execute in the directory of the test:
  probesim run testdata/suite/web.yaml --run '^seeds$' --kubernetes v1.36 --seed 9`))
	seeded.Match(RunScenario(t, file, "seeds", ScenarioOptions{}).Pod("web"))
	gomega.Expect(seeded.FailureMessage(nil)).To(gomega.ContainSubstring("Kubernetes v1.37, seed 1, run to"))
}

func TestRunScenarioRefused(t *testing.T) {
	const file = "testdata/suite/web.yaml"
	for _, test := range []struct {
		do   func(testing.TB)
		want string
	}{
		{func(t testing.TB) {
			RunScenario(t, "testdata/broken", "bad", ScenarioOptions{})
		}, "Invalid scenario files; no scenario ran:\ntestdata/broken/bad.yaml:4:22: spec.pods[0].name"},
		{func(t testing.TB) {
			RunScenario(t, file, "slow", ScenarioOptions{})
		}, `RunScenario: testdata/suite/web.yaml has no scenario "slow"; its scenarios are: slow-start, seeds`},
		{func(t testing.TB) {
			RunScenario(t, file, "seeds", ScenarioOptions{Kubernetes: "1.37"})
		}, `RunScenario: unknown version of Kubernetes "1.37"; the supported versions are: v1.33, `},
		{func(t testing.TB) {
			RunScenario(t, file, "seeds", ScenarioOptions{}).Pod("app")
		}, `the scenario has no pod "app"; its pods are: web`},
		{func(t testing.TB) {
			RunScenario(t, file, "seeds", ScenarioOptions{}).Pod("web").Delete()
		}, "Delete: the run of the pod web is complete: "},
	} {
		fake := newFakeT(t)
		test.do(fake)
		if got := strings.Join(fake.failures, "\n"); !strings.HasPrefix(got, test.want) {
			t.Errorf("failed with %q, want %q", got, test.want)
		}
	}
}

// withPath contains the path that TestProbes runs, in a process that another test starts.
const withPath = "PROBETEST_PATH"

func TestProbes(t *testing.T) {
	if path := os.Getenv(withPath); path != "" {
		RunScenarios(t, path)
	}
}

// runScenarios runs RunScenarios in a separate process and returns the output.
func runScenarios(t *testing.T, path string, flags ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestProbes$"}, flags...)...)
	cmd.Env = append(os.Environ(), withPath+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), err == nil
}

func TestRunScenarios(t *testing.T) {
	for _, test := range []struct {
		path    string
		flags   []string
		passes  bool
		want    []string
		without string
	}{
		{"testdata/suite/web.yaml", []string{"-test.v"}, true, []string{
			"--- PASS: TestProbes/slow-start/v1.34 ", "--- PASS: TestProbes/slow-start/v1.37 ",
			"--- PASS: TestProbes/seeds/v1.37 ",
			"slow-start  v1.37  1m  no restarts", "Warning  Unhealthy"}, "FAIL"},
		{"testdata/suite", []string{"-test.run=TestProbes/slow-start/v1.37", "-test.v"}, true,
			[]string{"--- PASS: TestProbes/slow-start/v1.37 "}, "seeds"},
		{"testdata/suite/failing.yaml", nil, false, []string{
			"--- FAIL: TestProbes/some-seeds/v1.37 ", "scenario.go:",
			"testdata/suite/failing.yaml:22: 4 of 10 runs failed\n", "It also failed with seeds 4, 6, 9.",
			"probesim run testdata/suite/failing.yaml --run '^some-seeds$' --kubernetes v1.37 --seed 2"}, "PASS"},
		{"testdata/broken", []string{"-test.v"}, false, []string{
			"scenario_test.go:", "Invalid scenario files; no scenario ran:",
			`testdata/broken/bad.yaml:4:29: spec.expekt: unknown field (did you mean "expect"?)`}, "TestProbes/"},
	} {
		out, passed := runScenarios(t, test.path, test.flags...)
		for _, want := range test.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: the output does not contain %q:\n%s", test.path, want, out)
			}
		}
		if passed != test.passes || strings.Contains(out, test.without) {
			t.Errorf("%s: passed: %t, or the output contains %q:\n%s", test.path, passed, test.without, out)
		}
	}
}

// TestWithoutGinkgo checks that package probetest does not link Ginkgo, which would add its flags
// to every test.
func TestWithoutGinkgo(t *testing.T) {
	if f := flag.Lookup("ginkgo.focus"); f != nil {
		t.Error("the test has the flags of Ginkgo")
	}
}
