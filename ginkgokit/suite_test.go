package ginkgokit_test

import (
	"encoding/xml"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"probesim.dev/ginkgokit"
)

// inSuite is the environment variable with the path whose scenarios become specs, in the process
// that runs the suite.
const inSuite = "GINKGOKIT_SUITE"

var _ = ginkgokit.DescribeScenarios(os.Getenv(inSuite), ginkgo.Label("scenarios"))

// TestSuite is the suite. The other tests run it in a separate process.
func TestSuite(t *testing.T) {
	if os.Getenv(inSuite) == "" {
		t.Skip("runs only in the processes that the other tests start")
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "Scenarios")
}

var update = flag.Bool("update", false, "write the output of the suite into testdata; read the difference")

// golden compares a text with a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the output differs from %s; if the new output is right, run go test ./ginkgokit -update:\n%s", path,
			got)
	}
}

// suite runs the suite over a path with flags of Ginkgo. It returns the output and whether the
// suite passed.
func suite(t *testing.T, path string, flags ...string) (string, bool) {
	t.Helper()
	args := []string{"-test.run=^TestSuite$", "-ginkgo.no-color", "-ginkgo.seed=1"}
	for _, f := range flags {
		args = append(args, "-ginkgo."+f)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), inSuite+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), err == nil
}

// report is a JUnit report.
type report struct {
	Cases []struct {
		Name    string `xml:"name,attr"`
		Status  string `xml:"status,attr"`
		Failure *struct {
			Text string `xml:",chardata"`
		} `xml:"failure"`
	} `xml:"testsuite>testcase"`
}

// TestSpecs checks that the flags of Ginkgo select specs of scenarios.
func TestSpecs(t *testing.T) {
	const good, bad = "testdata/suite/web.yaml", "testdata/suite"
	oldest, newest := "slow-start [v1.34]", "slow-start [v1.37]"
	for _, test := range []struct {
		name, path string
		flags      []string
		passed     []string
		failed     []string
	}{
		{"all", good, nil, []string{oldest, "slow-start [v1.36]", newest, "seeds [v1.37]"}, nil},
		{"focus", good, []string{"focus=slow-start.*v1.3[47]"}, []string{oldest, newest}, nil},
		{"skip", good, []string{"skip=slow-start"}, []string{"seeds [v1.37]"}, nil},
		{"focus-file", bad, []string{"focus-file=web.yaml:11"}, []string{oldest, "slow-start [v1.36]", newest}, nil},
		{"a label", bad, []string{"label-filter=smoke && scenarios", "focus=v1.37"}, []string{newest}, nil},
		{"a label with a value", bad, []string{"label-filter=area: containsAny liveness"}, []string{"seeds [v1.37]"},
			nil},
		{"a label with a slash", bad, []string{"label-filter=app.kubernetes.io.name: containsAny web", "focus=v1.37"},
			[]string{newest}, nil},
		{"failures", bad, []string{"label-filter=failing: containsAny yes"}, nil,
			[]string{"no-seed [v1.37]", "some-seeds [v1.37]", "too-late [v1.37]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "junit.xml")
			out, ok := suite(t, test.path, append(test.flags, "junit-report="+file)...)
			if ok != (test.failed == nil) {
				t.Errorf("the suite passed: %t\n%s", ok, out)
			}
			passed, failed := results(t, file, test.path)
			if !slices.Equal(passed, sorted(test.passed)) || !slices.Equal(failed, sorted(test.failed)) {
				t.Errorf("passed: %q, failed: %q\n%s", passed, failed, out)
			}
		})
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// results returns the names of the specs that passed and failed, from a JUnit report.
func results(t *testing.T, file, path string) (passed, failed []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := xml.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cases {
		name, isSpec := strings.CutPrefix(c.Name, "[It] "+path+" ")
		name = regexp.MustCompile(` \[[^v].*`).ReplaceAllString(name, "") // the labels
		switch {
		case !isSpec || c.Status == "skipped":
		case c.Failure != nil:
			failed = append(failed, name)
		default:
			passed = append(passed, name)
		}
	}
	return sorted(passed), sorted(failed)
}

// The parts of the output that differ from run to run and from machine to machine.
var (
	head      = regexp.MustCompile(`(?m)^Running Suite: .*\n=+\n`)
	directory = regexp.MustCompile(`\S*/ginkgokit/`)
	seconds   = regexp.MustCompile(`\[[\d.]+ seconds\]|in [\d.]+ seconds|\([\d.]+s\)| @ [\d/]+ [\d:.]+`)
)

func TestFailures(t *testing.T) {
	out, ok := suite(t, "testdata/suite/failing.yaml", "v=false")
	if ok {
		t.Error("the suite passed")
	}
	out = seconds.ReplaceAllString(directory.ReplaceAllString(head.ReplaceAllString(out, ""), ""), "")
	golden(t, "testdata/failures.txt", regexp.MustCompile(`(specs\.go):\d+`).ReplaceAllString(out, "$1"))
}

// TestVerbose checks that, with -v, a spec that passes shows its timeline and events.
func TestVerbose(t *testing.T) {
	out, ok := suite(t, "testdata/suite/web.yaml", "v", "focus=slow-start.*v1.37")
	for _, want := range []string{"timeline - ", "web.yaml:11 @", "slow-start  v1.37  1m  no restarts", "    Started",
		"Warning  Unhealthy"} {
		if !ok || !strings.Contains(out, want) {
			t.Errorf("the suite failed, or its output has no %q\n%s", want, out)
		}
	}
}

// TestBroken checks that no spec runs if a file is invalid, regardless of --focus.
func TestBroken(t *testing.T) {
	for path, want := range map[string]string{
		"testdata/broken":  "testdata/broken/bad.yaml:4:29: spec.expekt: unknown field (did you mean \"expect\"?)\n",
		"testdata/missing": "testdata/missing: cannot be read: no such file or directory",
		"testdata":         "testdata/broken/bad.yaml:4:29",
		"suite_test.go":    "suite_test.go:",
	} {
		out, ok := suite(t, path, "focus=nothing")
		if ok || !strings.Contains(out, want) || !strings.Contains(out, "no spec ran") ||
			strings.Contains(out, "Ran ") || strings.Contains(out, "\x1b") {
			t.Errorf("%s: passed: %t\n%s", path, ok, out)
		}
	}
}
