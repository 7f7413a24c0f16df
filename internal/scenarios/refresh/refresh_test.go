package refresh

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
)

// observe runs a file and merges the observations of its runs.
func observe(t *testing.T, text string) []expect.Observation {
	t.Helper()
	loaded, err := scenarios.LoadBytes("f.yaml", []byte(text),
		func(string) ([]byte, error) { return nil, errors.New("no") })
	if err != nil {
		t.Fatal(err)
	}
	var all []expect.Observation
	for _, s := range loaded {
		var merged []expect.Observation
		for _, plan := range s.Plans() {
			run := simulate.Run(context.Background(), plan, simulate.Options{})
			seen, err := expect.Observe(plan, expect.Run{Records: run.Records})
			if err != nil || run.Err != nil {
				t.Fatal(err, run.Err)
			}
			for i := range merged {
				seen[i] = expect.Merge(merged[i], seen[i])
			}
			merged = seen
		}
		all = append(all, merged...)
	}
	return all
}

const head = `# A comment; é and ü count as one column.
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: x, livenessProbe: {exec: {command: [a]}}, readinessProbe: {exec: {command: [a]}, periodSeconds: 5}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: é}
spec:
  duration: 2m
  pods: [{name: web, containers: [{name: app, behavior: [{for: 12s, readiness: fail}, {instance: 0, after: 30s, liveness: fail}]}]}]
  expect:
`

var file = strings.Replace(head, "name: é", "name: a", 1)

func TestFile(t *testing.T) {
	for _, test := range []struct{ name, before, after string }{
		{"first", `  - {observed: true, first: 1s..2s, becomes: {ready: true}}   # a comment`,
			`  - {observed: true, first: 15.5116s, becomes: {ready: true}}   # a comment`},
		{"after non-ASCII characters", `  - {name: "é 🙂 …", observed: true, first: '1s', becomes: {ready: true}}`,
			`  - {name: "é 🙂 …", observed: true, first: 15.5116s, becomes: {ready: true}}`},
		{"block style", "  - observed: true\n    first:   ..5s # soon\n    becomes: {ready: true}",
			"  - observed: true\n    first:   15.5116s # soon\n    becomes: {ready: true}"},
		{"since", `  - {observed: true, since: {record: {kind: ContainerStarted}}, first: .., container: app, ` +
			`record: {kind: ProbeExecuted, probe: readiness}}`,
			"  - {observed: true, since: {record: {kind: ContainerStarted}}, first: 28.4ms..30.1ms, container: app, " +
				"record: {kind: ProbeExecuted, probe: readiness}}"},
		{"count", `  - {observed: true, within: ..50s, count: 1.., record: {kind: ProbeExecuted, probe: liveness}}`,
			`  - {observed: true, within: ..50s, count: 4, record: {kind: ProbeExecuted, probe: liveness}}`},
		{"count of zero", `  - {observed: true, within: ..5s, count: 7, record: {kind: ContainerStopping}}`,
			`  - {observed: true, within: ..5s, count: 0, record: {kind: ContainerStopping}}`},
		{"transitions", `  - {observed: true, container: app, transitions: {restartCount: [0, 1, 2, 3]}}`,
			`  - {observed: true, container: app, transitions: {restartCount: [0, 1]}}`},
		{"transitions in block style", "  - observed: true\n    container: app\n    transitions:\n      state:\n     " +
			" - running\n    # the end", "  - observed: true\n    container: app\n    transitions:\n      state:\n   " +
			"   - waiting\n      - running\n    # the end"},
		{"status", `  - {observed: true, at: 1m, container: app, status: {ready: false, state: "waiting", ` +
			`restartCount: 0, reason: CrashLoopBackOff}}`,
			`  - {observed: true, at: 1m, container: app, status: {ready: true, state: running, restartCount: 0, reason: ""}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := updated(t, file+test.before+"\n")
			if got := strings.TrimSuffix(strings.TrimPrefix(string(r.Text), file), "\n"); got != test.after ||
				r.Changed != 1 {
				t.Fatalf("the file is\n%s\nwant\n%s", got, test.after)
			}
			if again := updated(t, string(r.Text)); again.Changed != 0 || again.Diff != "" ||
				string(again.Text) != string(r.Text) {
				t.Errorf("a second update changes the file again:\n%s", again.Diff)
			}
			checkHeld(t, string(r.Text))
		})
	}
}

// updated updates a file; the result loads again.
func updated(t *testing.T, text string) Result {
	t.Helper()
	r, err := File("f.yaml", []byte(text), observe(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkHeld checks that all observed expectations have the observed values.
func checkHeld(t *testing.T, text string) {
	t.Helper()
	for _, o := range observe(t, text) {
		if !o.Holds() {
			t.Errorf("%s differs from the observation %s", o.Expect.Text, o)
		}
	}
}

// TestOtherBytesStay checks that an update keeps line breaks, byte order marks and other documents.
func TestScalar(t *testing.T) {
	for text, want := range map[string]string{"Error": "Error", "a b": `"a b"`, "on": `"on"`, "Y": `"Y"`,
		"true": `"true"`, "5": `"5"`, "": `""`} {
		if got := scalar(value.TextOf(text)); got != want {
			t.Errorf("%q is written %s, want %s", text, got, want)
		}
	}
}

func TestOtherBytesStay(t *testing.T) {
	text := file + "  - {observed: true, first: 1s, becomes: {ready: true}}\n" +
		strings.Replace(file[strings.Index(file, "---"):], "name: a}", "name: b}", 1) +
		"  - {observed: true, container: app, transitions: {restartCount: [5]}, name: \"\u2028\"}"
	want := updated(t, text)
	for name, change := range map[string]func(string) string{
		"carriage returns":   func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"byte order mark":    func(s string) string { return "\ufeff" + s },
		"a final line break": func(s string) string { return s + "\n" },
	} {
		t.Run(name, func(t *testing.T) {
			got := updated(t, change(text))
			if string(got.Text) != change(string(want.Text)) || got.Changed != 2 {
				t.Errorf("the file is\n%q", got.Text)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	got := updated(t, file+"  - {observed: true, first: 1s, becomes: {ready: true}}\n  # between\n  - {observed: "+
		"true, container: app, transitions: {restartCount: [5]}}").Diff
	want := `--- f.yaml
+++ f.yaml
@@ -11,6 +11,6 @@
   duration: 2m
   pods: [{name: web, containers: [{name: app, behavior: [{for: 12s, readiness: fail}, {instance: 0, after: 30s, liveness: fail}]}]}]
   expect:
-  - {observed: true, first: 1s, becomes: {ready: true}}
+  - {observed: true, first: 15.5116s, becomes: {ready: true}}
   # between
-  - {observed: true, container: app, transitions: {restartCount: [5]}}
+  - {observed: true, container: app, transitions: {restartCount: [0, 1]}}
`
	if got != want {
		t.Errorf("the diff is\n%s\nwant\n%s", got, want)
	}
}

func TestCannotBeUpdated(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"  - &a {observed: true, first: 1s, becomes: {ready: true}}\n",
			"f.yaml:14:5: spec.expect[0]: cannot be updated: it uses a YAML anchor or alias, so the update would " +
				"change other places too: write the value without them"},
		{"  - {observed: true, first: &a 1s, becomes: {ready: true}}\n", "it uses a YAML anchor"},
		{"  - {observed: true, first: &a 1s, becomes: {ready: true}}\n  - {observed: true, first: *a, becomes: " +
			"{ready: false}}\n", "expect[1]: cannot be updated: it uses a YAML anchor"},
		{"  - &b {observed: true, first: 1s, becomes: {ready: true}}\n  - {<<: *b, becomes: {ready: false}}\n",
			"expect[1]: cannot be updated: it uses a YAML anchor"},
		{"  - {observed: true, first: 10s, becomes: {phase: Failed}}\n", "cannot be updated: web: no match"},
		{"  - {observed: true, since: {record: {kind: Event, reason: SandboxChanged}}, first: .., record: {kind: " +
			"Event}}\n", "cannot be updated: web: no match"},
		{"  - {observed: true, since: {record: {kind: Event, reason: SandboxChanged}}, within: .., count: 1, record: " +
			"{kind: Event}}\n", "no Event {reason: SandboxChanged}, so no window opened"},
		{"  - observed: true\n    container: app\n    transitions:\n      restartCount:\n      - 7 # seven\n      " +
			"- 8\n", "the list of restartCount has comments inside, which the update would remove"},
		{"  - observed: true\n    container: app\n    at: 5s\n    status:\n      reason: >-\n        Error\n",
			"has a YAML style that cannot be updated: write it in one line"},
		{"  - {observed: true, since: {record: {kind: ContainerStarted}}, within: 0s..20s, container: app, " +
			"transitions: {restartCount: [0]}}\n", "the values differ: [0] and [0, 1]"},
	} {
		_, err := File("f.yaml", []byte(file+test.text), observe(t, file+test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.text, err)
		}
	}
}

// TestOtherEncodings checks the error for files in which expectations cannot be found.
func TestOtherEncodings(t *testing.T) {
	text := file + "  - {observed: true, first: 1s, becomes: {ready: true}}\n"
	seen := observe(t, text)
	wide := "\xff\xfe"
	for _, c := range text {
		wide += string([]byte{byte(c), byte(c >> 8)})
	}
	for _, other := range []string{wide, "\n" + text, ""} {
		if _, err := File("f.yaml", []byte(other), seen); err == nil ||
			!strings.Contains(err.Error(), "cannot be found in the file") {
			t.Errorf("%v", err)
		}
	}
}

// TestSeeds checks that the observation of several seeds is the range of their values.
func TestSeeds(t *testing.T) {
	text := strings.Replace(file, "duration: 2m\n", "duration: 2m\n  seeds: 1..5\n", 1)
	text = strings.Replace(text, "{for: 12s,", "{for: 8s..22s,", 1) +
		"  - {observed: true, first: 1s, becomes: {ready: true}}\n"
	seen := observe(t, text)
	if seen[0].Min >= seen[0].Max || time.Duration(seen[0].Min) < 8*time.Second ||
		time.Duration(seen[0].Max) > 30*time.Second {
		t.Errorf("%v", seen[0])
	}
	checkHeld(t, string(updated(t, text).Text))
}
