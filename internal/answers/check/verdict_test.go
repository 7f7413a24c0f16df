package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
)

// chart returns a manifest of Deployments, each with the fields of its only container.
func chart(containers ...string) string {
	var b strings.Builder
	for i, c := range containers {
		fmt.Fprintf(&b, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w%02d}\nspec:\n  selector: "+
			"{matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      "+
			"- name: app\n        image: web:1\n", i)
		if c != "" {
			b.WriteString("        " + strings.ReplaceAll(c, "\n", "\n        ") + "\n")
		}
	}
	return b.String()
}

// TestVerdict checks what the verdict counts, names and combines, in the report and in its JSON.
func TestVerdict(t *testing.T) {
	exec := "livenessProbe: {exec: {command: [live]}, failureThreshold: 6}"
	job := "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {template: {spec: {restartPolicy: " +
		"Never, containers: [{name: app, image: a}]}}}\n"
	sidecar := "---\napiVersion: v1\nkind: Pod\nmetadata: {name: meshed}\nspec: {initContainers: [{name: setup, " +
		"image: a}, {name: proxy, image: a, restartPolicy: Always, readinessProbe: {httpGet: {port: 1}}}], " +
		"containers: [{name: app, image: a}]}\n"
	require, _ := parseRequirements("unready<=1m")
	r := checked(t, chart(exec, "", exec+"\nreadinessProbe: {httpGet: {port: 80}}", "",
		"readinessProbe: {httpGet: {port: htpp}}")+job+sidecar, check.Options{Require: require})
	v := r.Verdict
	if v.Workloads != 7 || v.Containers != 8 || v.Errors != 1 || v.Warnings != 2 || v.Notes != 7 || v.Required != 7 ||
		v.NotMet != 6 || v.NotChecked != 0 {
		t.Errorf("the verdict is %+v", v)
	}
	if want := []string{"w00", "w01", "w03", "meshed"}; !slices.Equal(v.NoReadiness, want) {
		t.Errorf("without a readiness probe are %q, want %q", v.NoReadiness, want)
	}
	if want := []string{"w01", "w03"}; !slices.Equal(v.NoProbes, want) {
		t.Errorf("without probes are %q, want %q", v.NoProbes, want)
	}
	first, others := v.First(3)
	if len(first) != 3 || len(others) != 3 || first[2].ID != check.NoStartupProbe || others[0].ID != check.NoProbes ||
		others[1].ID != check.AnswerTimeout || first[0].ID != check.BrokenProbe || first[1].ID != check.ExecTimeout {
		t.Fatalf("worth changing first: %+v, and also %+v", first, others)
	}
	if got := first[1].Names(); !slices.Equal(got, []string{"w00", "w02"}) ||
		first[1].Fix != "livenessProbe.timeoutSeconds 1 -> 5" {
		t.Errorf("the second change is %q in %q", first[1].Fix, got)
	}
	text, _ := json.Marshal(r)
	for _, want := range []string{
		`"verdict":{"workloads":7,"containers":8,"errors":1,"warnings":2,"notes":7,"ignored":0,"known":0,"required":7,"notMet":6,"notChecked":0,"noReadiness":["w00","w01","w03","meshed"],"noProbes":["w01","w03"],`,
		`"containers":[{"name":"w00","workload":"w00","container":"app","file":"web.yaml","line":13},`,
		`"withoutProbes":["app"],"noReadiness":true`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the JSON lacks %s:\n%s", want, text)
		}
	}
}

// TestWorthFirst checks that the worst errors are first, and that kinds of findings alternate
// within a severity.
func TestWorthFirst(t *testing.T) {
	startup := func(failures int) string {
		return fmt.Sprintf("startupProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: "+
			"%d}\nreadinessProbe: {httpGet: {port: 80}, periodSeconds: 1}", failures)
	}
	r := checked(t, chart(startup(20), startup(5), "readinessProbe: {httpGet: {port: htpp}}", startup(10), startup(31),
		"readinessProbe: {exec: {command: [x]}}"),
		check.Options{Start: value.Durations{Ordinary: &value.Interval{Min: 3e9, Max: 29500e6}}})
	first, others := r.Verdict.First(3)
	var got []string
	for _, g := range slices.Concat(first, others) {
		got = append(got, string(g.ID)+" "+strings.Join(g.Names(), " "))
	}
	want := []string{"broken-probe w02", "start-killed w01", "start-killed w03", "start-killed w00", "start-tight w04",
		"exec-timeout w05", "answer-timeout w00 w01 w03 w04"}
	if len(first) != 3 || !slices.Equal(got, want) {
		t.Errorf("worth changing are %q, want %q", got, want)
	}
}

var tableHeads = regexp.MustCompile("(?m)^ +always +never")

// TestVerdictOfAChart checks that the first screen of a chart fits a screen, and that a person sees
// there what to change.
func TestVerdictOfAChart(t *testing.T) {
	var containers []string
	for range 25 {
		containers = append(containers, "")
	}
	containers = append(containers, "readinessProbe: {httpGet: {port: htpp}}",
		"livenessProbe: {exec: {command: [live]}, failureThreshold: 6}\nreadinessProbe: {httpGet: {port: 80}, "+
			"periodSeconds: 1}")
	for i := range 3 {
		containers = append(containers,
			fmt.Sprintf("livenessProbe: {httpGet: {port: 80}, periodSeconds: %d}\nreadinessProbe: {httpGet: {port: "+
				"80}, periodSeconds: 1}", i+5))
	}
	for _, details := range []bool{false, true} {
		var b bytes.Buffer
		if err := render.Document(checked(t, chart(containers...), check.Options{Delays: "typical", Nodes: typical})).
			Write(&b, "text", document.Options{Details: details}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if !details && len(lines) > 24 {
			t.Errorf("the first screen has %d lines", len(lines))
		}
		if tables := len(tableHeads.FindAllString(b.String(), -1)); details != (tables == 4) {
			t.Errorf("the output has %d tables", tables)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("this line is too long: %s", line)
			}
		}
		for _, want := range []string{
			"30 workloads, 30 containers: 1 error, 1 warning, 33 notes",
			"25 workloads have no readiness probe: pods get traffic whether they can serve or\nnot. w00, w01, w02, " +
				"w03, w04 and 20 more\nWithout any probe (no-probes): all of these",
			"1. w25: its readiness probe can never run: the container has no port named\n   \"htpp\"",
			"2. w26: its liveness probe fails if its command takes over 1s",
			"   livenessProbe.timeoutSeconds 1 -> 5\n",
			"   add a startup probe (every 5s, 25 failures)\n   Costs: up -> Ready 6.6s, not 1.4s\n",
			"note     answer-timeout    w26, w27, w28, w29",
			"note     no-startup-probe  w26, w28, w29",
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the output lacks %q:\n%s", want, b.String())
			}
		}
	}
}
