package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"probesim.dev/internal/githubrunner"
	"probesim.dev/internal/long"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios"
)

// payloads are texts that a file can contain. Each is a command to GitHub's runner, or controls a
// terminal, if a program prints it unchanged at the right place.
var payloads = []string{
	"::error file=a.go,line=1::forged", "   ::stop-commands::forged", "a\n::add-mask::forged",
	"a\r\n  ::set-env name=FORGED::x",
	"a\r::set-output name=forged::x", "\u00a0::error::forged", "\u2003\t::warning::forged", "\u2028::error::forged",
	"\u0085::error::forged",
	"a ##[error]forged", "##[set-env name=FORGED]x", "##[stop-commands]forged", "\n##[add-mask]forged",
	"##vso[task.setvariable variable=a]forged",
	"%0A::error::forged", "::%0A::error::forged", ":\u200d:error::forged", "#\u034f#[error]forged",
	"\ufeff::error::forged", "\ufe0f::error::forged",
	"\x1b[2J\x1b]0;forged\a", "\u009b31m", "a\u202eb\u2066c\u200fd", "\x00\x08\x7f", "\u200b\u00ad\u2060", "a\tb",
	"]]>&<b>", "`'\"$(x)|;",
	strings.Repeat("forged ", 30) + "::error::forged", strings.Repeat("x", 99) + "::error::forged",
}

// hostileScenario has payloads in every field that accepts any text. Its expectations fail.
func hostileScenario() string {
	all := strconv.Quote(strings.Join(payloads, " \n"))
	text := `
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {a: ` + all + `}}
spec:
  containers:
  - name: app
    image: example.com/web
    command: [` + all + `]
    livenessProbe: {exec: {command: [` + all + `]}, periodSeconds: 5, failureThreshold: 2}
    readinessProbe: {httpGet: {port: 80}, periodSeconds: 3, failureThreshold: 1}
    lifecycle: {preStop: {exec: {command: [` + all + `]}}, postStart: {exec: {command: [x]}}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: hostile}
spec:
  duration: 2m
  description: ` + all + `
  kubernetesVersions: [v1.34, v1.37]
  pods:
  - name: web
    containers:
    - name: app
      answers:
      - {name: bad, code: 1, body: ` + all + `}
      - {name: lost, transportError: ` + all + `}
      behavior:
      - {after: 20s, liveness: bad}
      - {after: 30s, liveness: stall, for: 5s}
      - {after: 10s, readiness: lost, preStop: bad}
  steps:
  - {at: 50s, patch: {pod: web, metadata: {annotations: {b: ` + all + `}}}}
  expect:
  - {first: 1s, becomes: {ready: true}, kubernetesVersions: [v1.37]}
`
	for _, p := range payloads {
		q := strconv.Quote(p)
		text += "  - {name: " + q + ", never: .., becomes: {ready: true}}\n"
		text += "  - {first: .., record: {kind: Event, message: " + q + "}}\n"
		text += "  - {never: .., record: {kind: Event, message: /./}, name: " + q + "}\n"
	}
	return text
}

// invalid are files with errors that name or quote a payload, which is in double quotes. FILE is a
// payload for a file name.
var invalid = []string{
	"{apiVersion: v1, kind: Pod, metadata: {name: web, PAYLOAD: 1}, spec: {PAYLOAD: {PAYLOAD: 1}, containers: " +
		"[{name: PAYLOAD, PAYLOAD: 1, image: PAYLOAD}]}}",
	"{apiVersion: probesim.dev/v1alpha1, kind: Scenario, metadata: {name: PAYLOAD, labels: {PAYLOAD: PAYLOAD}}, " +
		"spec: {PAYLOAD: 1, duration: PAYLOAD, pods: [{name: PAYLOAD, file: PAYLOAD}]}}",
	"{apiVersion: probesim.dev/v1alpha1, kind: Scenario, metadata: {name: x}, spec: {pods: [{name: web}], expect: " +
		"[{PAYLOAD: 1, never: PAYLOAD, becomes: {PAYLOAD: PAYLOAD}}, {pod: PAYLOAD, never: .., record: {kind: " +
		"PAYLOAD, reason: PAYLOAD}}]}}",
	"{apiVersion: probesim.dev/v1alpha1, kind: Scenario, metadata: {name: x}, spec: {PAYLOAD: 1, PAYLOAD: 2, steps: " +
		"[{at: 1s, PAYLOAD: {}}]}}",
	`{apiVersion: PAYLOAD, kind: PAYLOAD}`,
	`{apiVersion: probesim.dev/v1alpha1, kind: Scenario, metadata: {name: x}, spec: [PAYLOAD, *PAYLOAD`,
	`PAYLOAD: [`,
	"\xff\u202e\x1b::error::forged: [\n  ::error::forged\n##[error]forged\n",
}

// some returns some of the payloads by default, and all of them with PROBESIM_LONG.
func some(all []string) []string {
	if long.Enabled() {
		return all
	}
	var few []string
	for i := 0; i < len(all); i += 6 {
		few = append(few, all[i])
	}
	return few
}

// session runs commands on hostile files and checks what they print.
type session struct {
	t   *testing.T
	dir string
}

// run runs a command line and checks its output. It returns what the command prints on stdout.
func (s *session) run(args ...string) string {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	execute(context.Background(), args, &stdout, &stderr)
	s.check(args, "stdout", stdout.String())
	s.check(args, "stderr", stderr.String())
	return stdout.String()
}

var ownTitles = regexp.MustCompile(`^(hostile \[v[0-9.]+\] failed|invalid scenario file|nothing was run|invalid ` +
	`manifest|nothing was rolled out|Deployment web)$`)

// check checks that output has no commands but annotations of probesim, and nothing but visible
// text and line breaks.
func (s *session) check(args []string, name, output string) {
	s.t.Helper()
	for _, c := range githubrunner.Commands(output) {
		if !strings.Contains(strings.Join(args, " "), "-o github") || c.Name != "error" ||
			!ownTitles.MatchString(c.Properties["title"]) {
			s.t.Errorf("%q: %s has the command %q", args, name, c.Line)
		}
		s.check([]string{"(annotation)"}, name, "x"+c.Data) // as the log shows it
	}
	page := strings.Contains(output, "<!DOCTYPE html>")
	for i, r := range output {
		if r == '\n' || page && r == '\t' || unicode.IsPrint(r) {
			continue
		}
		s.t.Errorf("%q: %s has %U in %q", args, name, r, output[max(0, i-40):min(len(output), i+20)])
		return
	}
}

func (s *session) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// fileNames returns the payloads that can be a part of a file name.
func fileNames() []string {
	names := []string{"\xff\xc3::error::x"}
	for _, p := range payloads {
		if !strings.ContainsAny(p, "\x00/") && len(p) < 200 {
			names = append(names, p)
		}
	}
	return names
}

func TestHostileScenario(t *testing.T) {
	s := &session{t, t.TempDir()}
	file := s.write("hostile.yaml", hostileScenario())
	others := [][]string{{"--verbose"}, {"--seed", "1..3"}, {"--until", "40s"}}
	for i, format := range runner.Formats() {
		flags := [][]string{nil, others[i%len(others)]}
		if long.Enabled() {
			flags = append([][]string{nil}, others...)
		}
		if format == "svg" { // a picture has one run
			flags = [][]string{{"--kubernetes", "v1.37"}}
		}
		for _, flags := range flags {
			out := s.run(append([]string{"run", file, "-o", format}, flags...)...)
			if len(out) < 1000 {
				t.Errorf("-o %s prints only %s", format, out)
			}
			switch format {
			case "json":
				if !json.Valid([]byte(out)) {
					t.Errorf("not JSON: %.200s", out)
				}
			case "junit", "svg":
				wellFormed(t, out)
			case "github":
				if n := len(githubrunner.Commands(out)); n < 50 {
					t.Errorf("%d annotations", n)
				}
			}
		}
	}
	for _, args := range [][]string{{"--restart", "1"}, {"--ready"}, {"--at", "25s"}, {"--restart", "99"},
		{"-o", "json", "--ready"}} {
		s.run(append([]string{"why", file}, args...)...)
	}
	for _, format := range []string{"text", "json"} {
		s.run("diff", file, "-o", format)
		s.run("diff", file, "-o", format, "--seed", "1..2")
	}
}

// TestHostileIncident checks the answers about a recording whose names and messages are hostile.
func TestHostileIncident(t *testing.T) {
	s := &session{t, t.TempDir()}
	all := strings.Join(payloads, " ")
	q := strconv.Quote(strings.ToValidUTF8(all, ""))
	event := func(reason, message string) string {
		return "---\n{kind: Event, metadata: {name: x." + reason + "}, involvedObject: {kind: Pod, name: " + q +
			", namespace: " + q + ", fieldPath: " +
			strconv.Quote("spec.containers{"+strings.ToValidUTF8(all, "")+"}") + "}, type: Warning, reason: " + reason +
			", message: " + strconv.Quote(message) +
			", firstTimestamp: \"2024-05-18T21:00:02Z\", lastTimestamp: \"2024-05-18T21:00:22Z\", count: 3}\n"
	}
	objects := s.write("objects.yaml", event("Unhealthy", "Liveness probe failed: "+all)+
		event("Killing", "Container "+all+" failed liveness probe, will be restarted")+event("Failed", all))
	text := s.write("text.txt", "Warning Unhealthy 9s (x4 over 2m) kubelet Liveness probe failed: "+all+
		"\nNormal Killing 9s kubelet Container "+payloads[0]+" failed liveness probe\n"+all+"\n")
	for _, file := range []string{objects, text} {
		for _, format := range incidentOutputs {
			if out := s.run("incident", file, "-v", "-o", format); len(out) < 100 {
				t.Errorf("%s: -o %s prints only %q", file, format, out)
			} else if format == "json" && !json.Valid([]byte(out)) {
				t.Errorf("not JSON: %.200s", out)
			}
		}
	}
	s.run("incident", "-v", s.write("nothing.txt", all))
}

// wellFormed checks that text is an XML document.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Error(err)
			return
		}
	}
}

// TestHostileValuesInJSON checks that reports for programs keep hostile values.
func TestHostileValuesInJSON(t *testing.T) {
	s := &session{t, t.TempDir()}
	file := s.write("hostile.yaml", hostileScenario())
	var report struct {
		Scenarios []struct {
			Description string
			Runs        []struct{ Expectations []struct{ Name string } }
		}
	}
	if err := json.Unmarshal([]byte(s.run("run", file, "-o", "json")), &report); err != nil {
		t.Fatal(err)
	}
	c := report.Scenarios[0]
	if want := strings.Join(payloads, " \n"); c.Description != want {
		t.Errorf("the description is %q, want %q", c.Description, want)
	}
	if name := c.Runs[0].Expectations[1].Name; name != payloads[0] {
		t.Errorf("the name is %q, want %q", name, payloads[0])
	}
	messages := 0
	for line := range strings.Lines(s.run("run", file, "-o", "jsonl", "--seed", "1", "--kubernetes", "v1.37")) {
		var record struct{ Message string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if strings.Contains(record.Message, payloads[1]) {
			messages++
		}
	}
	if messages == 0 {
		t.Error("no message has the text of a payload")
	}
}

// TestHostileColors checks that text from files cannot set colors where probesim does.
func TestHostileColors(t *testing.T) {
	s := &session{t, t.TempDir()}
	file := s.write("hostile.yaml", hostileScenario())
	for _, format := range []string{"timeline", "lines"} {
		var stdout bytes.Buffer
		execute(t.Context(), []string{"run", file, "--kubernetes", "v1.37", "-o", format, "--color", "always"}, &stdout,
			io.Discard)
		plain := regexp.MustCompile(`\x1b\[([0-2]|3[1-3])?m`).ReplaceAllString(stdout.String(), "")
		if plain == stdout.String() {
			t.Error("there are no colors")
		}
		s.check([]string{"run with colors"}, "stdout", plain)
		for _, color := range []string{"\x1b[31mforged", "\x1b[2J"} {
			if strings.Contains(stdout.String(), color) {
				t.Errorf("%q is in the output", color)
			}
		}
	}
}

func TestHostileErrors(t *testing.T) {
	s := &session{t, t.TempDir()}
	for i, text := range invalid {
		for _, p := range append(some(payloads), strings.Join(payloads, " ")) {
			file := s.write("x.yaml", strings.ReplaceAll(text, "PAYLOAD", strconv.Quote(p)))
			if i == 0 {
				s.run("init", "-f", file)
			}
			s.run("run", file)
			s.run("run", file, "-o", "github")
			s.run("why", file)
			s.run("diff", file)
		}
	}
}

// TestHostileFilesAreListed checks reports about valid and invalid files together.
func TestHostileFilesAreListed(t *testing.T) {
	s := &session{t, t.TempDir()}
	s.write("good.yaml", hostileScenario())
	for i, text := range invalid {
		all := strings.Join(payloads, " ")
		s.write(strconv.Itoa(i)+"\n::error::x##[x]\u202e.yaml", strings.ReplaceAll(text, "PAYLOAD", strconv.Quote(all)))
	}
	for _, format := range runner.Formats() {
		out := s.run("run", s.dir, "--keep-going", "--kubernetes", "v1.37", "-o", format)
		if format == "junit" {
			wellFormed(t, out)
		}
		if listed := strings.Contains(out, "unknown field"); listed !=
			slices.Contains([]string{"json", "junit", "markdown", "html", "github"}, format) {
			t.Errorf("-o %s: invalid files are listed: %t", format, listed)
		}
	}
	s.run("diff", s.dir, "--keep-going")
}

func TestHostileFileNames(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: x, " +
		"livenessProbe: {exec: {command: [a]}}}]}}\n"
	const scenario = "---\n{apiVersion: probesim.dev/v1alpha1, kind: Scenario, metadata: {name: hostile}, spec: " +
		"{duration: 1m, pods: [{name: web}], " +
		"expect: [{never: .., becomes: {ready: true}}, {first: 1s, becomes: {ready: true}}]}}\n"
	for _, name := range some(fileNames()) {
		s := &session{t, t.TempDir()}
		file := s.write(filepath.Join(name, name+".yaml"), pod+scenario)
		manifest := s.write(name+".yml", pod)
		for _, format := range runner.Formats() {
			out := s.run("run", file, "-o", format)
			if format == "junit" {
				wellFormed(t, out)
			}
		}
		t.Setenv("GITHUB_WORKSPACE", s.dir)
		s.run("run", file, "-o", "github")
		t.Setenv("GITHUB_WORKSPACE", "")
		s.run("run", file, "--seed", "1..5")
		s.run("why", file)
		s.run("diff", file)
		s.run("diff", file, "-o", "json")
		for _, args := range [][]string{{"run"}, {"run", "-o", "github"}, {"why"}, {"diff"}} {
			s.run(append(args, filepath.Join(s.dir, "none"+name))...)
			s.run(append(args, manifest)...)
			s.run(append(args, name)...)
		}
		s.run("init", "-f", manifest)
		s.run("init", "-f", file)
		s.run("init", "-f", filepath.Dir(file))
		s.run("init", "-f", filepath.Join(s.dir, "none"+name))
		s.run("init", name)
		draft := filepath.Join(s.dir, name+"-draft.yaml")
		s.run("init", "-f", manifest, "-o", draft)
		s.run("init", "-f", manifest, "-o", draft)
		s.run("init", "-f", manifest, "-o", filepath.Dir(file))
		s.run("init", "-f", manifest, "-o", manifest)
		s.run("run", draft)
	}
}

func TestHostileFlags(t *testing.T) {
	s := &session{t, t.TempDir()}
	file := s.write("x.yaml", hostileScenario())
	for _, p := range some(payloads) {
		for _, args := range [][]string{
			{p}, {"--" + p}, {"-" + p}, {"help", p}, {"explain", p}, {"explain", "spec." + p}, {"run", p},
			{"run", file, p}, {"run", file, "--" + p},
			{"run", file, "-o", p}, {"run", file, "--run", p}, {"run", file, "--run", "(" + p},
			{"run", file, "--seed", p}, {"run", file, "--until", p},
			{"run", file, "--kubernetes", p}, {"run", file, "--parallel", p}, {"why", file, "--pod", p},
			{"why", file, "--container", p},
			{"why", file, "--at", p}, {"why", file, "--restart", p}, {"why", file, "-o", p}, {"diff", file, "-o", p},
			{"diff", file, "--kubernetes", p},
			{"init", p}, {"init", "-f", p}, {"init", "-f", file, "-o", "/none/" + p}, {"completion", p}, {"version", p},
			{"schema", p},
		} {
			s.run(args...)
		}
	}
}

// TestHostileManifest checks a manifest from stdin, which init copies.
func TestHostileManifest(t *testing.T) {
	s := &session{t: t}
	for _, p := range append(payloads, strings.Join(payloads, " ")) {
		q := strconv.Quote(p)
		comment := strings.ReplaceAll(printableYAML(p), "\n", "\n# ")
		manifest := "# " + comment + "\n{apiVersion: v1, kind: Pod, metadata: {name: web, annotations: {a: " + q +
			"}}, spec: {containers: [{name: app, image: x, command: [" + q + ", " + q + "]," +
			" env: [{name: A, value: " + q + "}], livenessProbe: {exec: {command: [" + q + "]}}}]}}\n# " + comment +
			"\n"
		var stdout, stderr bytes.Buffer
		root := newRoot(&stdout, &printable.Writer{To: &stderr})
		root.SetIn(strings.NewReader(manifest))
		root.SetArgs([]string{"init", "-f", "-"})
		if err := root.Execute(); err != nil {
			t.Errorf("%q: %v", p, err)
			continue
		}
		s.check([]string{"init"}, "stdout", strings.ReplaceAll(stdout.String(), "\t", " ")) // comments may have tabs
		loaded, err := scenarios.LoadBytes("draft.yaml", stdout.Bytes(), nil)
		if err != nil {
			t.Errorf("%q: %v\n%s", p, err, stdout.String())
			continue
		}
		c := loaded[0].Plans()[0].Pods()[0].Pod.Spec.Containers[0]
		if c.Command[0] != p || c.Command[1] != p || c.Env[0].Value != p || c.LivenessProbe.Exec.Command[0] != p {
			t.Errorf("%q becomes %q", p, c.Command)
		}
	}
}

// TestHostileBlocks checks that init keeps values in block style and in plain style, which have no
// escapes.
func TestHostileBlocks(t *testing.T) {
	s := &session{t: t}
	for _, value := range []string{
		"|-\n  a\n  ::error::b\n  ##[error]c\u202e", ">-\n  a\n  ::error::b", "a " + strings.Repeat("word ", 20) +
			"::error::b", "'a ##[error]b'", "a\u202eb",
	} {
		text := "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: app, image: x}]}\nmetadata:\n name: web\n " +
			"annotations:\n  a: " +
			strings.ReplaceAll(value, "\n", "\n  ") + "\n"
		var stdout bytes.Buffer
		root := newRoot(&stdout, io.Discard)
		root.SetIn(strings.NewReader(text))
		root.SetArgs([]string{"init", "-f", "-"})
		if err := root.Execute(); err != nil {
			t.Errorf("%q: %v\n%s", value, err, text)
			continue
		}
		s.check([]string{"init"}, "stdout", stdout.String())
		before, err := manifests.Read("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := scenarios.LoadBytes("draft.yaml", stdout.Bytes(), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, stdout.String())
		}
		want, got := before.Workloads[0].Pod.Annotations["a"], loaded[0].Plans()[0].Pods()[0].Pod.Annotations["a"]
		if want == "" || got != want {
			t.Errorf("%q becomes %q", want, got)
		}
	}
}

// printableYAML removes the characters that YAML does not allow in a file.
func printableYAML(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0x9b || r == 0xfeff {
			return -1
		}
		return r
	}, strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n").Replace(s))
}
