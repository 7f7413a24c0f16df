package repotest

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/githubrunner"
)

// action is the part of action.yml that the test executes.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Name, ID, Run, Uses string
			Env                 map[string]string
		}
	}
}

func readAction(t *testing.T) *action {
	t.Helper()
	a := parse[action](t, read(t, "action.yml"))
	return &a
}

// job executes the shell steps of the action in a repository, as a runner of GitHub Actions does.
type job struct {
	t         *testing.T
	action    *action
	workspace string
	temp      string
	inputs    map[string]string
	base      string // commit of the base of the pull request
	outputs   map[string]string
	log       string
}

// newJob returns a job in a repository with the files of a base commit.
func newJob(t *testing.T, files map[string]string) *job {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts of the action need bash")
	}
	for _, name := range []string{"bash", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	j := &job{t: t, action: readAction(t), workspace: t.TempDir(), temp: t.TempDir(), inputs: map[string]string{}}
	j.git("init", "-q")
	j.commit(files)
	j.base = strings.TrimSpace(j.git("rev-parse", "HEAD"))
	return j
}

func (j *job) git(args ...string) string {
	j.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com", "-c",
		"commit.gpgsign=false"}, args...)...)
	cmd.Dir = j.workspace
	out, err := cmd.CombinedOutput()
	if err != nil {
		j.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (j *job) commit(files map[string]string) {
	j.t.Helper()
	writeFiles(j.t, j.workspace, files)
	j.git("add", "-A")
	j.git("commit", "-q", "-m", "files")
}

// expression matches an expression of a workflow.
var expression = regexp.MustCompile(`\$\{\{\s*([^ }]+)\s*\}\}`)

// value evaluates the expressions in a value of an environment.
func (j *job) value(text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		name := expression.FindStringSubmatch(e)[1]
		if input, is := strings.CutPrefix(name, "inputs."); is {
			declared, known := j.action.Inputs[input]
			if !known {
				j.t.Errorf("action.yml has no input %s", input)
			}
			if value, set := j.inputs[input]; set {
				return value
			}
			return declared.Default
		}
		switch name {
		case "github.action_path":
			root, err := filepath.Abs(".")
			if err != nil {
				j.t.Fatal(err)
			}
			return root
		case "github.event.pull_request.base.sha":
			return j.base
		case "steps.prepare.outputs.key":
			return j.outputs["key"]
		case "steps.prepare.outputs.version":
			return j.outputs["version"]
		case "github.token":
			return "token"
		case "steps.check.outputs.passed":
			return j.outputs["passed"]
		}
		j.t.Errorf("the test knows no value of %s", e)
		return ""
	})
}

// run executes the steps until one fails, and returns the name of this step or nothing.
func (j *job) run() string {
	j.t.Helper()
	file := func(name string) string {
		name = filepath.Join(j.temp, name)
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			j.t.Fatal(err)
		}
		return name
	}
	output, summary, path := file("output"), file("summary"), file("path")
	for _, step := range j.action.Runs.Steps {
		if step.Run == "" {
			continue
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.Run)
		cmd.Dir = j.workspace
		cmd.Env = append(os.Environ(), "GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+summary, "GITHUB_PATH="+path,
			"GITHUB_WORKSPACE="+j.workspace,
			"RUNNER_TEMP="+j.temp, "RUNNER_OS=Linux", "RUNNER_ARCH=X64", "CI=true")
		for key, value := range step.Env {
			cmd.Env = append(cmd.Env, key+"="+j.value(value))
		}
		out, err := cmd.CombinedOutput()
		j.log += string(out)
		j.outputs = map[string]string{}
		for line := range strings.Lines(j.read("output")) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			j.outputs[key] = value
		}
		if err != nil {
			return step.Name
		}
	}
	return ""
}

func (j *job) read(name string) string {
	text, err := os.ReadFile(filepath.Join(j.temp, name))
	if err != nil {
		return ""
	}
	return string(text)
}

// reuse takes the command that another job installed.
func (j *job) reuse(other *job) {
	bin := filepath.Join("probesim", "bin", other.outputs["key"])
	err := os.MkdirAll(filepath.Join(j.temp, bin), 0o777)
	if err == nil {
		err = os.Symlink(filepath.Join(other.temp, bin, "probesim"), filepath.Join(j.temp, bin, "probesim"))
	}
	if err != nil {
		j.t.Fatal(err)
	}
}

// brokenPod has a probe that can never run, which takes few runs to find.
const brokenPod = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: web, readinessProbe: {httpGet: {port: managment}, periodSeconds: 1}}]}
`

const quietService = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
`

const failingScenario = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: web, livenessProbe: {exec: {command: [live]}}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: never-ready}
spec:
  duration: 5s
  pods: [{name: web}]
  expect: [{never: .., record: {kind: ContainerStarted}}]
`

// TestAction runs the shell steps of action.yml in repositories whose names of files, texts and
// inputs are hostile.
func TestAction(t *testing.T) {
	hostile := map[string]string{
		"deploy/$(touch pwned).yaml":            brokenPod,
		"deploy/`touch pwned`; touch pwned.yml": brokenPod,
		"deploy/two\nlines ::error::owned.yaml": brokenPod,
		"deploy/'quoted\" name.yaml":            brokenPod,
		"-o html.yaml":                          brokenPod,
		"deploy/service.yaml":                   quietService,
		"deploy/notes.txt":                      "no manifest",
	}
	first := newJob(t, map[string]string{"deploy/old.yaml": brokenPod, "README": "r"})
	first.commit(hostile)
	first.inputs = map[string]string{"manifests": "deploy\n\n  -o html.yaml\n", "fail-on": "error", "delays": "default",
		"require": ""}
	if step := first.run(); step != "Report the result" || first.outputs["passed"] != "false" ||
		first.outputs["reports"] != "true" {
		t.Errorf("the step %q failed, want the last one; outputs %v\n%s", step, first.outputs, first.log)
	}
	var files []string
	for _, c := range githubrunner.Commands(first.log) {
		if c.Name != "error" || !strings.Contains(c.Data, "can never run") {
			t.Errorf("the log has the command %q", c.Line)
		}
		files = append(files, c.Properties["file"])
	}
	slices.Sort(files)
	want := []string{"-o html.yaml", "deploy/$(touch pwned).yaml", "deploy/'quoted\" name.yaml",
		"deploy/`touch pwned`; touch pwned.yml", `deploy/two\nlines ::error::owned.yaml`}
	if !slices.Equal(files, want) {
		t.Errorf("annotations of %q, want %q\n%s", files, want, first.log)
	}
	if found, _ := filepath.Glob(filepath.Join(first.workspace, "*pwned*")); len(found) > 0 {
		t.Errorf("a name or an input became a command: %q", found)
	}
	if summary := first.read("summary"); strings.Count(summary, ", container app\n") != len(want) {
		t.Errorf("the job summary is\n%s", summary)
	}
	if page := first.read("probesim/reports/check.html"); !strings.Contains(page,
		"<h1>5 workloads, 5 containers: 5 errors</h1>") {
		t.Errorf("the page has %d bytes", len(page))
	}
	if key := first.outputs["key"]; !regexp.MustCompile(`^probesim-Linux-X64-[0-9a-f]{32}$`).MatchString(key) {
		t.Errorf("the key of the cache is %q", key)
	}

	// Nothing named has changed, so neither the manifest nor the scenario matters.
	same := newJob(t, map[string]string{"deploy/old.yaml": brokenPod, "probes/s.yaml": failingScenario})
	same.commit(map[string]string{"README": "new"})
	same.reuse(first)
	same.inputs = map[string]string{"manifests": "deploy", "scenarios": "probes", "fail-on": "note"}
	if step := same.run(); step != "" || same.outputs["passed"] != "true" || same.outputs["reports"] != "" ||
		!strings.Contains(same.log, "Nothing has changed.") {
		t.Errorf("the step %q failed; outputs %v\n%s", step, same.outputs, same.log)
	}

	// A changed Service has no workload to check, but the scenarios run. Each failure counts.
	scenario := newJob(t, map[string]string{"deploy/old.yaml": brokenPod, "probes/s.yaml": failingScenario})
	scenario.commit(map[string]string{"deploy/service.yaml": quietService})
	scenario.reuse(first)
	scenario.inputs = map[string]string{"manifests": "deploy", "scenarios": "probes", "fail-on": "error"}
	if step := scenario.run(); step != "Report the result" || len(githubrunner.Commands(scenario.log)) != 1 ||
		!strings.Contains(scenario.read("probesim/reports/run.html"), "never-ready") {
		t.Errorf("the step %q failed\n%s", step, scenario.log)
	}

	// A push has no base: everything counts.
	push := newJob(t, map[string]string{"deploy/old.yaml": brokenPod})
	push.base = ""
	push.reuse(first)
	push.inputs = map[string]string{"manifests": "deploy", "fail-on": "error"}
	if step := push.run(); step != "Report the result" || len(githubrunner.Commands(push.log)) != 1 {
		t.Errorf("the step %q failed\n%s", step, push.log)
	}

	// A pull request that changes other files of a directory passes, as a push of the directory
	// does. Names of what it deletes pass too.
	others := newJob(t, map[string]string{"deploy/old.yaml": brokenPod, "gone/old.yaml": brokenPod})
	others.git("rm", "-qr", "gone")
	others.commit(map[string]string{"deploy/values.yaml": "replicas: 3",
		"deploy/kustomization.yaml": "resources: [old.yaml]"})
	others.reuse(first)
	others.inputs = map[string]string{"manifests": "deploy\ngone", "fail-on": "error"}
	if step := others.run(); step != "" || others.outputs["passed"] != "true" ||
		!strings.Contains(others.log, "(deploy/values.yaml)") {
		t.Errorf("the step %q failed; outputs %v\n%s", step, others.outputs, others.log)
	}

	// No change matches a misspelled name.
	misspelt := newJob(t, map[string]string{"deploy/old.yaml": brokenPod})
	misspelt.commit(map[string]string{"README": "new"})
	misspelt.reuse(first)
	misspelt.inputs = map[string]string{"manifests": "deploi$(touch pwned)", "fail-on": "error"}
	if step := misspelt.run(); step != "Check" || len(githubrunner.Commands(misspelt.log)) != 1 ||
		!strings.Contains(misspelt.log, "There is no file or directory deploi$(touch pwned), and") {
		t.Errorf("the step %q failed\n%s", step, misspelt.log)
	}

	testPullRequests(t, first)
	testRollouts(t, first)

	for name, test := range map[string]struct {
		inputs     map[string]string
		step, want string
	}{
		"nothing to do": {nil, "Check", "set the input manifests, scenarios or rollout"},
		"a hostile release": {map[string]string{"version": "v1.2.3 --help\nkey=x"}, "Prepare",
			"The input version must be a release such as v1.2.3, or source."},
		"a wrong input": {map[string]string{"manifests": "deploy", "require": "$(touch pwned)"},
			"Report the result", `::error title=probesim::probesim: --require: "$(touch pwned)" is no requirement`},
	} {
		j := newJob(t, map[string]string{"deploy/old.yaml": brokenPod})
		j.base = ""
		j.reuse(first)
		j.inputs = test.inputs
		if step := j.run(); step != test.step || !strings.Contains(j.log, test.want) {
			t.Errorf("%s: the step %q failed, want %q\n%s", name, step, test.step, j.log)
		}
		if found, _ := filepath.Glob(filepath.Join(j.workspace, "*pwned*")); len(found) > 0 {
			t.Errorf("%s: an input became a command", name)
		}
	}
}

// testPullRequests runs the action for pull requests that improve, worsen and switch off probes.
// The job that installed the command is the first one.
func testPullRequests(t *testing.T, first *job) {
	t.Helper()
	manifest := func(head, probes string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web" + head +
			"}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: " +
			"{containers: [{name: app, image: web" + probes + "}]}\n"
	}
	quick := ", livenessProbe: {httpGet: {port: 80}, periodSeconds: 2}"
	slow := ", livenessProbe: {httpGet: {port: 80}, periodSeconds: 10}"
	wrong, ignores := ", livenessProbe: {httpGet: {port: htpp}}", ", annotations: {probesim.dev/ignore: broken-probe}"
	loose := ", annotations: {probesim.dev/require: detect<=2m}"
	starts := ", annotations: {probesim.dev/start: 40s}"
	known := `{"workloads": [{"kind": "Deployment", "namespace": "default", "name": "web", "containers": [{"name": ` +
		`"app", "findings": [{"id": "broken-probe", "severity": "error", "field": "spec.containers[0].livenessProbe"}]}]}]}`
	for name, test := range map[string]struct {
		before, after, inputs map[string]string
		passed                bool
		summary, log          string
	}{
		"a longer period": {map[string]string{"deploy/a.yaml": manifest("", quick)},
			map[string]string{"deploy/a.yaml": manifest("", slow)}, nil,
			true, "better", ""},
		"no probes any more": {map[string]string{"deploy/a.yaml": manifest("", quick)},
			map[string]string{"deploy/a.yaml": manifest("", "")}, nil,
			false, "the container loses its liveness probe", "takes a probe away from a container"},
		"an annotation that ignores an error": {map[string]string{"deploy/a.yaml": manifest("", wrong)},
			map[string]string{"deploy/a.yaml": manifest(ignores, wrong)}, nil,
			false, "1 error", "can never run"},
		"an annotation of the base": {map[string]string{"deploy/a.yaml": manifest(ignores, wrong)},
			map[string]string{"deploy/a.yaml": manifest(ignores, wrong+", command: [x]")}, nil,
			true, "1 ignored", ""},
		"an annotation that is allowed": {map[string]string{"deploy/a.yaml": manifest("", wrong)},
			map[string]string{"deploy/a.yaml": manifest(ignores, wrong)},
			map[string]string{"allow-annotations": "true\r"},
			true, "1 ignored", ""},
		"a requirement that asks for less": {map[string]string{"deploy/a.yaml": manifest("", quick)},
			map[string]string{"deploy/a.yaml": manifest(loose, slow)}, map[string]string{"require": "detect<=20s"},
			false, "**FAIL** detect&lt;=20s", "a requirement is not met"},
		"a requirement that may ask for less": {map[string]string{"deploy/a.yaml": manifest("", quick)},
			map[string]string{"deploy/a.yaml": manifest(loose, slow)},
			map[string]string{"require": "detect<=20s", "allow-annotations": "true"},
			true, "", ""},
		"defaults that ignore an error": {map[string]string{"deploy/a.yaml": manifest("", quick)},
			map[string]string{"deploy/a.yaml": manifest("", wrong),
				".probesim.yaml": "ignore: [{findings: broken-probe}]\n"}, nil, false, "1 error", "can never run"},
		"defaults of " +
			"the base": {map[string]string{"deploy/a.yaml": manifest("", quick),
			".probesim.yaml": "ignore: [{findings: broken-probe}]\n"},
			map[string]string{"deploy/a.yaml": manifest("", wrong)}, nil, true, "1 ignored", ""},
		"a start that gets shorter": {map[string]string{"deploy/a.yaml": manifest(starts, quick)},
			map[string]string{"deploy/a.yaml": manifest(", annotations: {probesim.dev/start: 1s}", quick)}, nil,
			false, "1 error", "start-killed"},
		"a start that is gone": {map[string]string{"deploy/a.yaml": manifest(starts, quick)},
			map[string]string{"deploy/a.yaml": manifest("", quick)}, nil,
			false, "1 error", "start-killed"},
		"a start that is allowed": {map[string]string{"deploy/a.yaml": manifest(starts, quick)},
			map[string]string{"deploy/a.yaml": manifest(", annotations: {probesim.dev/start: 1s}", quick)},
			map[string]string{"allow-annotations": "true"}, true, "2 warnings, 1 note", ""},
		"a stop of " +
			"the base": {map[string]string{"deploy/a.yaml": manifest(", annotations: {probesim.dev/stop: 50s}", quick)},
			map[string]string{"deploy/a.yaml": manifest(", annotations: {probesim.dev/stop: 2s}", quick)}, nil,
			false, "1 error", "short-grace"},
		"a stop of the action": {map[string]string{"deploy/a.yaml": manifest("", quick)},
			map[string]string{"deploy/a.yaml": manifest("", slow)}, map[string]string{"stop": "50s\r"},
			false, "1 error", "short-grace"},
		"a requirement that " +
			"is gone": {
			map[string]string{"deploy/a.yaml": manifest(", annotations: {probesim.dev/require: detect<=10s}", quick)},
			map[string]string{"deploy/a.yaml": manifest("", slow)}, nil,
			false, "**FAIL** detect&lt;=10s", "a requirement is not met"},
		"a baseline of the pull " +
			"request": {map[string]string{"deploy/a.yaml": manifest("", quick),
			".probesim.yaml": "baseline: known.json # findings\n", "known.json": "{}"},
			map[string]string{"deploy/a.yaml": manifest("", wrong), "known.json": known}, nil, false, "1 error",
			"can never run"},
		"a baseline of " +
			"the base": {map[string]string{"deploy/a.yaml": manifest("", quick),
			".probesim.yaml": "baseline: 'ci/known.json'\n", "ci/known.json": known},
			map[string]string{"deploy/a.yaml": manifest("", wrong), "ci/known.json": "{}"}, nil, true, "1 known", ""},
		"a baseline " +
			"outside": {map[string]string{"deploy/a.yaml": manifest("", quick),
			".probesim.yaml": "baseline: ../../known.json\n"},
			map[string]string{"deploy/a.yaml": manifest("", wrong)}, nil, false, "",
			"must be a file in the directory of this file"},
		"invalid in its base": {map[string]string{"deploy/a.yaml": "apiVersion: v1\nkind: Pod\nspec: {}\n",
			"deploy/b.yaml": manifest("", quick)},
			map[string]string{"deploy/a.yaml": manifest("", quick), "deploy/b.yaml": manifest("", slow)}, nil, true,
			"worse", "deploy/a.yaml is invalid in its base"},
		"Windows line ends": {map[string]string{"deploy/a.yaml": manifest("", quick)},
			map[string]string{"deploy/a.yaml": manifest("", slow)},
			map[string]string{"manifests": "deploy\r\n", "fail-on": "error\r", "kubernetes": "v1.37\r",
				"require": "stall>=1s\r", "start": "1s\r", "delays": "typical\r"}, true, "better", ""},
	} {
		j := newJob(t, test.before)
		j.commit(test.after)
		j.reuse(first)
		j.inputs = map[string]string{"manifests": "deploy"}
		maps.Copy(j.inputs, test.inputs)
		j.run()
		if passed := j.outputs["passed"] == "true"; passed != test.passed ||
			!strings.Contains(j.read("summary"), test.summary) || !strings.Contains(j.log, test.log) {
			t.Errorf("%s: passed %v, want %v\n%s\nsummary:\n%s", name, passed, test.passed, j.log, j.read("summary"))
		}
		if strings.Contains(j.log, "could not be compared") || strings.Contains(j.log, "\r") {
			t.Errorf("%s:\n%s", name, j.log)
		}
	}
}

// testRollouts runs the action for Deployments to roll out. The job that installed the command is
// the first one.
func testRollouts(t *testing.T, first *job) {
	t.Helper()
	web := func(annotations, container string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web" + annotations +
			"}\nspec:\n  replicas: 3\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: " +
			"b}}\n" +
			"    spec: {containers: [{name: app, image: web, readinessProbe: {tcpSocket: {port: 80}, " +
			"periodSeconds: 1}" + container + "}]}\n"
	}
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {a: b}, ports: [{port: " +
		"80}]}\n"
	sleeps, allows := ", lifecycle: {preStop: {sleep: {seconds: 6}}}",
		", annotations: {probesim.dev/require: lost<=100000}"
	base := map[string]string{"$(touch pwned)/service.yaml": service, "$(touch pwned)/web.yaml": web("", sleeps),
		"README": "r", ".probesim.yaml": "start: 1s\n"}
	const file = "$(touch pwned)/web.yaml"
	for name, test := range map[string]struct {
		after, inputs map[string]string
		passed        bool
		log           string
	}{
		"a sleep that is gone": {map[string]string{file: web("", "")}, nil, false, "a rollout loses up to"},
		"an annotation that allows it": {map[string]string{file: web(allows, "")}, nil, false,
			"a rollout loses up to"},
		"one that may": {map[string]string{file: web(allows, "")},
			map[string]string{"allow-annotations": "true"}, true, "::notice"},
		"an input that allows it": {map[string]string{file: web("", "")},
			map[string]string{"rollout-require": "lost<=100000\r", "rps": "20\r", "kubernetes": "v1.36..\r"}, true,
			"--rps 20 --start 1s"},
		"defaults that " +
			"allow it": {map[string]string{file: web("", ""), ".probesim.yaml": "require: lost<=100000"}, nil, false,
			"a rollout loses up to"},
		"another sleep": {map[string]string{file: web("", strings.Replace(sleeps, "6", "7", 1))}, nil,
			true, ""},
		"nothing that is rolled out": {map[string]string{"README": "new"}, nil, true, "Nothing has changed."},
		"a number that is a command": {map[string]string{file: web("", sleeps+", command: [x]")},
			map[string]string{"rps": "$(touch pwned2)"}, false, "::error title=probesim::"},
		"a requirement that is an error": {map[string]string{file: web("", sleeps+", command: [x]")},
			map[string]string{"rollout-require": "--help"}, false, "is no requirement"},
	} {
		j := newJob(t, base)
		j.commit(test.after)
		j.reuse(first)
		j.inputs = map[string]string{"rollout": "\n  $(touch pwned)\r\n"}
		maps.Copy(j.inputs, test.inputs)
		j.run()
		if passed := j.outputs["passed"] == "true"; passed != test.passed || !strings.Contains(j.log, test.log) {
			t.Errorf("%s: passed %v, want %v\n%s", name, passed, test.passed, j.log)
		}
		if page := j.read("probesim/reports/rollout.html"); strings.Contains(j.log, "loses up to") &&
			!strings.Contains(page, ": a rollout loses") ||
			strings.Contains(j.read("summary"), "loses up to") != strings.Contains(j.log, "loses up to") {
			t.Errorf("%s: the page has %d bytes, and the summary is\n%s", name, len(page), j.read("summary"))
		}
		if found, _ := filepath.Glob(filepath.Join(j.workspace, "pwned*")); len(found) > 0 {
			t.Errorf("%s: a name or an input became a command", name)
		}
	}
}

// TestActionVersions checks that a second use of the action in a job does not take the command of
// the first one.
func TestActionVersions(t *testing.T) {
	j := newJob(t, map[string]string{"README": "r"})
	j.base = ""
	for _, version := range []string{"v1.2.3", "v1.2.4\r"} {
		// A command that is cached under the key of its version.
		clean := strings.TrimSpace(version)
		bin := filepath.Join(j.temp, "probesim", "bin", "probesim-Linux-X64-"+clean)
		script := "#!/bin/sh\necho \"this is " + clean + "\"\n"
		if err := errors.Join(os.MkdirAll(bin, 0o777),
			os.WriteFile(filepath.Join(bin, "probesim"), []byte(script), 0o777)); err != nil {
			t.Fatal(err)
		}
		j.log, j.inputs = "", map[string]string{"version": version, "manifests": "."}
		j.run()
		if !strings.Contains(j.log, "this is "+clean) ||
			strings.Count(j.log, "this is") != strings.Count(j.log, "this is "+clean) {
			t.Errorf("version %q: %s", version, j.log)
		}
	}
}

// TestActionRelease installs a release with a stand-in for gh, which serves one archive and answers
// whether its attestation holds. An archive without one leaves nothing behind.
func TestActionRelease(t *testing.T) {
	gh := `#!/bin/sh
echo "gh $*" >>"$RUNNER_TEMP/calls"
case "$1 $2" in
"release download")
  printf '#!/bin/sh\necho "this is the release"\n' >probesim
  chmod +x probesim
  tar -czf "$7" probesim && rm probesim ;;
"attestation verify") exit %s ;;
esac
`
	for _, test := range []struct{ name, verified, step string }{
		{"attested", "0", "Check"}, // the command is no probesim, and the inputs name nothing to do
		{"not attested", "1", "Install the command"},
	} {
		j := newJob(t, map[string]string{"README": "r"})
		j.base = ""
		tools := t.TempDir()
		writeFiles(t, tools, map[string]string{"gh": strings.Replace(gh, "%s", test.verified, 1)})
		t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
		j.inputs = map[string]string{"version": "v1.2.3"}
		step := j.run()
		if step != test.step {
			t.Errorf("%s: the step %q failed, want %q\n%s", test.name, step, test.step, j.log)
		}
		installed, _ := filepath.Glob(filepath.Join(j.temp, "probesim/bin/*/*"))
		verified := test.verified == "0"
		if strings.Contains(j.log, "this is the release") != verified || len(installed) == 1 != verified {
			t.Errorf("%s: installed %q\n%s", test.name, installed, j.log)
		}
		want := "gh release download v1.2.3 --repo probesim/probesim --pattern probesim_linux_amd64.tar.gz\n" +
			"gh attestation verify probesim_linux_amd64.tar.gz --repo probesim/probesim " +
			"--source-ref refs/tags/v1.2.3 --signer-workflow probesim/probesim/.github/workflows/release.yaml\n"
		if calls := j.read("calls"); calls != want {
			t.Errorf("%s: calls\n%swant\n%s", test.name, calls, want)
		}
	}
}

// TestActionQuotes checks that no expression reaches a command line of the action, and that each
// input is used.
func TestActionQuotes(t *testing.T) {
	a := readAction(t)
	used := map[string]bool{"artifact": true}
	for _, step := range a.Runs.Steps {
		if strings.Contains(step.Run, "${{") {
			t.Errorf("the step %q has an expression in its command: pass the value through env", step.Name)
		}
		for _, value := range step.Env {
			if m := expression.FindStringSubmatch(value); m != nil {
				used[strings.TrimPrefix(m[1], "inputs.")] = true
			}
		}
	}
	for name := range a.Inputs {
		if !used[name] {
			t.Errorf("no step uses the input %s", name)
		}
	}
	if len(a.Inputs) < 8 {
		t.Errorf("action.yml has only %d inputs", len(a.Inputs))
	}
}
