package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"probesim.dev/scenarios"
)

var (
	mutants     = flag.Int("mutants", 40, "number of mutants of the inputs of all commands")
	firstMutant = flag.Int("first-mutant", 0, "number of the first mutant")
)

// subject is an input of commands that a mutant spoils.
type subject struct {
	kind  string   // the key of mutantCommands
	name  string   // of the file
	text  string   // its content
	words []string // texts of flags, which stand for WORD
}

// mutantCommands are the commands for an input of each kind. @ is the spoiled file, and WORD a
// spoiled text. pod.yaml is a manifest, and race.yaml is a scenario with the witness, the
// exploration and the report beside it.
var mutantCommands = map[string][]string{
	"scenario": {
		"run @ --seed 1..2 -o timeline", "run @ -o summary", "run @ -o lines", "run @ -o jsonl -v --seed 1",
		"run @ -o json --seed 1..2", "run @ -o junit",
		"run @ -o html --seed 1", "run @ -o perfetto --seed 1", "run @ -o github", "run @ --from 1s --until 30s",
		"run @ --keep-going",
		"why @ -o json", "why @ --ready", "why @ --at 9s", "why @ --restart any", "diff @ -o lines", "diff @ -o json",
		"explore @ --runs 12", "explore @ --runs 12 -o json", "explore @ --runs 8 -o html",
		"replay witness.json --file @", "shrink witness.json --file @ --time 200ms",
		"merge result.json --witness w --file @", "compare pod.yaml pod.yaml -f @", "check @", "init -f @",
	},
	"manifest": {
		"check @", "check @ -o json", "check @ -o html", "check @ -o markdown", "check @ -o junit", "check @ -o sarif",
		"check @ -o github", "check @ --kubernetes v1.34.. --details -o table",
		"check @ --start 40s..70s --stop 3s --require start>=70s,detect<=45s", "check @ --witness w --row app/start",
		"compare pod.yaml @", "compare @ pod.yaml -o json",
		"compare @ pod.yaml -o html", "tune @ --require start>=90s,detect<=60s", "tune @ --require detect<=30s -o yaml",
		"tune @ --require stall>=9s -o json",
		"tune @ --require start>=90s -o patch", "rollout @ --runs 2",
		"rollout @ --runs 2 -o json --start 3s..9s --require lost<=0", "rollout @ --from pod.yaml --runs 2", "run @",
		"run @ --print-scenario", "why @ --ready", "diff @", "init -f @", "init -f @ -o new.yaml",
	},
	"recording": {
		"incident @", "incident @ -v", "incident @ -o json", "incident @ -o markdown", "incident @ -o html -v",
		"incident @ -o timeline", "incident @ -o jsonl",
		"incident @ --redact -v", "incident @ --scenario new.yaml", "measure @", "measure @ -o json",
		"measure @ -o config", "check pod.yaml --measured @",
	},
	"witness": {"replay @", "replay @ -o json", "replay @ -o jsonl -v", "replay @ -o html", "replay @ witness.json",
		"shrink @ --time 200ms", "shrink @ --time 200ms --out new.yaml"},
	"result": {"merge @", "merge @ --all", "merge @ -o json", "merge @ --witness w --file race.yaml",
		"merge result.json @"},
	"report": {"check pod.yaml --baseline @", "check pod.yaml --annotations-of @ -o json"},
	"config": {"check pod.yaml --config @", "check pod.yaml --config @ -o json"},
	"require": {"check pod.yaml --require WORD", "tune pod.yaml --require WORD",
		"compare pod.yaml pod.yaml --require WORD -o json"},
	"duration": {"check pod.yaml --start WORD", "check pod.yaml --stop WORD -o json", "run pod.yaml --until WORD",
		"why race.yaml --at WORD", "run race.yaml --seed WORD"},
	"app": {"run pod.yaml --app WORD", "run pod.yaml --app WORD --print-scenario",
		"why pod.yaml --app WORD --ready -o json", "diff pod.yaml --app WORD"},
}

// noPlace are the refusals of a file that are about no place in it.
var noPlace = regexp.MustCompile(`there is no (Scenario|workload) in|there are no pods|has no pods|nothing is ` +
	"measured|there is no Deployment in|there is no restart in|there are no facts about pods|no scenario(:| " +
	"of)|needs --out|there are several scenarios|" +
	"has several pods|choose (it|one) with|no workload in|a workload could not be checked|invalid argument|" +
	"which 'probesim|does not fail|has changed since|parts are missing|is there " +
	"twice|has no scenario|no finding|is not a part|has no container|already has a Scenario|uses a workload in|it is " +
	"empty|has no workload|the trace has the hash")

// hostile are texts that replace others.
var hostile = []string{
	"null", "", "-1", "0", "1", "2", "99999999999999999999", "1e400", "0.5", "1h", "-5s", "1ns", "300y", "..", "5s..1s",
	"0s..", "[]", "{}", "[null]", "{a: 1}", "true", "x", "''",
	`"\u202e\u200b"`, "\u202e\u2066", "a/b", "../x", "*", "&a", "*a", "<<", "!!int x", "---", "|", "app", "web",
	"liveness", "2026-02-30T00:00:00Z", "\x00", "\xff", "::error::x",
}

var (
	token = regexp.MustCompile(`"[^"\n]*"|[A-Za-z0-9_./-]+`)
	entry = regexp.MustCompile(`"?[A-Za-z]+"?: ?[^,{}\[\]\n]+`)
)

// mutate spoils a text in one to three places.
func mutate(r *rand.Rand, text string) string {
	for range 1 + r.IntN(3) {
		lines := strings.SplitAfter(text, "\n")
		l := r.IntN(len(lines))
		switch tokens, entries := token.FindAllStringIndex(text, -1), entry.FindAllStringIndex(text, -1); r.IntN(10) {
		case 0:
			text = strings.Join(slices.Delete(lines, l, l+1), "")
		case 1:
			text = strings.Join(slices.Insert(lines, r.IntN(len(lines)), lines[l]), "")
		case 2:
			text = text[:r.IntN(len(text)+1)]
		case 3:
			at := r.IntN(len(text) + 1)
			text = text[:at] + hostile[r.IntN(len(hostile))] + text[at:]
		case 4, 5:
			if len(entries) > 0 { // leave out a field, or write it twice
				e := entries[r.IntN(len(entries))]
				both := text[e[0]:e[1]] + ", " + text[e[0]:e[1]]
				text = text[:e[0]] + []string{"", both}[r.IntN(2)] + text[e[1]:]
			}
		default:
			if len(tokens) > 0 {
				t, other := tokens[r.IntN(len(tokens))], tokens[r.IntN(len(tokens))]
				value := hostile[r.IntN(len(hostile))]
				if r.IntN(3) == 0 {
					value = text[other[0]:other[1]]
				}
				text = text[:t[0]] + value + text[t[1]:]
			}
		}
	}
	return text
}

// mutantSubjects returns the inputs to spoil. It makes the files that the commands need besides
// them in a directory.
func mutantSubjects(t *testing.T, dir string) (list []subject) {
	t.Helper()
	add := func(kind, pattern string, accept func(name string, data []byte) bool) {
		root, base := filepath.Split(pattern)
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if match, _ := filepath.Match(base, e.Name()); err != nil || e.IsDir() || !match {
				return err
			}
			data, err := os.ReadFile(path)
			if len(data) < 20_000 && accept(e.Name(), data) {
				list = append(list, subject{kind: kind, name: e.Name(), text: string(data)})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("scenario", "../../scenarios/library/*.yaml", func(name string, data []byte) bool {
		all, err := scenarios.LoadBytes(name, data, func(string) ([]byte, error) { return nil, errors.ErrUnsupported })
		return err == nil && len(all) < 5 && time.Duration(all[0].Spec.Duration) <= time.Hour
	})
	any := func(string, []byte) bool { return true }
	add("manifest", "../../scenarios/library/manifests/*.yaml", any)
	add("manifest", "../../internal/answers/check/testdata/*.yaml", any)
	add("manifest", "../../scenarios/library/rollouts/*.yaml", any)
	add("recording", "../../internal/answers/incident/testdata/threads/*", any)
	add("recording", "../../internal/answers/incident/testdata/pastes/*", any)
	add("recording", "../../internal/answers/incident/testdata/recordings/*", any)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("pod.yaml", mutantPod)
	write("race.yaml", mutantPod+"---\n"+mutantScenario)
	for _, made := range [][]string{
		{"witness", "witness.json", "explore", "race.yaml", "--runs", "40", "--all", "--witness", "witnesses"},
		{"result", "result.json", "explore", "race.yaml", "--runs", "40", "-o", "json", "--shard", "0/1"},
		{"report", "report.json", "check", "pod.yaml", "-o", "json"},
	} {
		text := runMutant(t, dir, 1, made[2:]).stdout
		if made[0] == "witness" {
			found, _ := filepath.Glob(filepath.Join(dir, "witnesses/*"))
			data, err := os.ReadFile(found[len(found)-1])
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		write(made[1], text)
		list = append(list, subject{kind: made[0], name: made[1], text: text})
	}
	return append(list, subject{kind: "manifest", name: "pod.yaml", text: mutantPod},
		subject{kind: "config", name: "c.yaml", text: "start: 40s..70s\nstop: [app=3s]\ndelays: typical\nkubernetes: " +
			"v1.36..\nrequire: start>=70s\nallow-annotations: true\nfail-on: error\nignore: [{path: 'a/*', findings: " +
			"no-startup-probe}]\n"},
		subject{kind: "require", words: []string{"start>=70s, app/detect<=45s", "stall>=15s",
			"recover<=5m,unready<=10s", "ready<=5s"}},
		subject{kind: "duration", words: []string{"app=40s..70s", "3s", "1m30s", "1..3"}},
		subject{kind: "app", words: []string{"start 45s..70s", "stall 12s every 1m", "http:8080/ready 503 2m at 10m",
			"app=exit 1 after 5m", "kubelet down 10s at 1m", "delete at 2m", "preStop 0 in 8m", "rollout at 2m",
			"web=scale 5 at 2m", "refuse 2s"}})
}

const mutantPod = `apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {probesim.dev/require: "app/detect<=45s", probesim.dev/start: 20s..30s, probesim.dev/ignore: no-startup-probe}
spec:
  containers:
  - {name: app, image: "web:1", readinessProbe: {exec: {command: [ready]}, periodSeconds: 5}, livenessProbe: {httpGet: {port: 8080, path: /live}}, lifecycle: {preStop: {sleep: {seconds: 3}}}}
`

const mutantScenario = `apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: race}
spec:
  duration: 20s
  pods: [{name: web}]
  expect: [{name: ready at once, first: 0s..4s, becomes: {ready: true}}]
`

// ran is what a command did.
type ran struct {
	code           int
	stdout, stderr string
}

// runMutant runs a command in a directory, in a process of its own.
func runMutant(t *testing.T, dir string, processors int, args []string) ran {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	var stdout, stderr bytes.Buffer
	cmd.Args, cmd.Dir, cmd.Stdout, cmd.Stderr = append([]string{"probesim"}, args...), dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", processors))
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// TestMutants spoils the inputs of all commands. Whatever an input is, a command does not panic,
// exits with a code that its help has, names the place of what it refuses in a file, prints only
// visible text, and prints the same with any number of processors.
//
//	go test ./cmd/probesim -run TestMutants -mutants 10000
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	list := mutantSubjects(t, dir)
	byKind := map[string][]subject{}
	for _, s := range list {
		byKind[s.kind] = append(byKind[s.kind], s)
	}
	kinds := []string{"scenario", "scenario", "scenario", "manifest", "manifest", "recording", "recording", "witness",
		"result", "report", "config", "require", "duration", "app"}
	for i := *firstMutant; i < *firstMutant+*mutants; i++ {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			group := byKind[kinds[i%len(kinds)]]
			s := group[r.IntN(len(group))]
			command := mutantCommands[s.kind][r.IntN(len(mutantCommands[s.kind]))]
			args, file := strings.Fields(command), "mutant-"+s.name
			var text string
			if s.words != nil {
				text = mutate(r, s.words[r.IntN(len(s.words))])
			} else {
				text = mutate(r, s.text)
			}
			for k, arg := range args {
				switch arg {
				case "@":
					args[k] = file
				case "WORD":
					args[k] = strings.ReplaceAll(text, "\x00", "0") // a process has no such argument
				}
			}
			var runs [2]ran
			for k := range runs {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				runs[k] = runMutant(t, dir, k+1, args)
				os.Remove(filepath.Join(dir, "new.yaml"))
				os.Remove(filepath.Join(dir, "new.json"))
			}
			for _, problem := range mutantProblems(runs, s.words == nil, file, args) {
				t.Errorf("probesim %q: %s\nexit code %d, stderr %.1500s\n%s:\n%.3000q", args, problem, runs[0].code,
					runs[0].stderr, file, text)
			}
		})
	}
}

// mutantProblems says what is wrong about a command that ran with one and with two processors.
func mutantProblems(runs [2]ran, isFile bool, file string, args []string) (problems []string) {
	r := runs[0]
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if !slices.Contains([]int{exitOK, exitFailed, exitUsage, exitBroken, exitInterrupted}, r.code) ||
		strings.Contains(r.stderr, "goroutine ") {
		wrong("it panics or has a wrong exit code")
	}
	// The texts of clusters have lines, and other files columns too.
	place := regexp.MustCompile(`(^|\n|[^\w])` + regexp.QuoteMeta(file) + `:[0-9]+:[0-9]+: `)
	if args[0] == "measure" {
		place = regexp.MustCompile(regexp.QuoteMeta(file) + `:[0-9]+: `)
	}
	if isFile && r.code == exitUsage && !place.MatchString(r.stderr) && !place.MatchString(r.stdout) &&
		!noPlace.MatchString(r.stderr) {
		wrong("a refusal without a place")
	}
	if r != runs[1] {
		wrong("the output is another one with two processors:\n%.2000s\nand\n%.2000s", r.stdout+r.stderr,
			runs[1].stdout+runs[1].stderr)
	}
	if strings.Contains(r.stderr, "Go struct") || strings.Contains(r.stderr, "Go value") {
		wrong("names of Go")
	}
	page := strings.Contains(r.stdout, "<!DOCTYPE html>")
	copies := slices.Contains(args, "yaml") // tune writes the manifest with all its characters
	for i, c := range r.stdout + r.stderr {
		if copies {
			break
		}
		if c != '\n' && !unicode.IsPrint(c) && (c != '\t' || !page) {
			wrong("%U is not visible in %q", c, (r.stdout + r.stderr)[max(0, i-40):min(len(r.stdout+r.stderr), i+20)])
			break
		}
	}
	if k := slices.Index(args, "-o"); k > 0 && args[k+1] == "json" && r.stdout != "" && !json.Valid([]byte(r.stdout)) {
		wrong("not JSON: %.500s", r.stdout)
	}
	return problems
}
