package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	continued = regexp.MustCompile(` \\\n\s+`)
	ofShell   = regexp.MustCompile(`(?:'[^']*'|[^\s'])+`)
	// printedCommand is a command at the beginning of a line, or after what it is for.
	printedCommand = regexp.MustCompile(
		`(?m)^(?:\s*|.*: |.*\. Next: |show +)probesim ((?:check|compare|diff|incident|rollout|run|tune|why) .*)$`)
	ofContainer = regexp.MustCompile(`(?:--start ([^ =]+)=|--require '?([^ /]+)/)`)
	ofFile      = regexp.MustCompile(`\S*\.yaml|[^ /=']+/[^ /=']+=|\^[^ ]+\$|[0-9]+`)
	imageLine   = regexp.MustCompile(`(?m)(^ *(?:- )?image:) [^ ,{}]+$`)
)

// printers are the commands that print commands, by the files that they read: some of many that are
// alike. FILE stands for the file, CHANGED for one with other images, and NEW for one to write.
var printers = []struct {
	root, files string
	every       int
	commands    []string
}{
	{"scenarios/library", `\.yaml$`, 2, []string{"check FILE"}},
	{"scenarios/library/manifests", `\.yaml$`, 1, []string{"check FILE",
		"check FILE --start 40s..70s --stop 3s..29s --require 'start>=2m, lost<=0'", "compare FILE CHANGED",
		"init -f FILE -o NEW --force"}},
	{"scenarios/library/manifests", `\.yaml$`, 3, []string{"rollout FILE --start 8s..15s --runs 2",
		"run FILE --app 'rollout at 2m' --delays typical"}},
	{"scenarios/library/rollouts", `\.yaml$`, 4, []string{"run FILE", "rollout FILE --runs 2"}},
	{"scenarios/library", `(bugs|lifecycle|quickstart)/.*\.yaml$`, 9, []string{"run FILE --seed 1..2",
		"why FILE --restart any", "run FILE --app 'start 40s..70s' --seed 1..2"}},
	{"scenarios/library/lifecycle", `exit-at-the-end-of-the-grace-period\.yaml$`, 1, []string{"diff FILE"}},
	{"examples", `\.yaml$`, 4, []string{"run FILE", "check FILE", "rollout FILE --runs 2",
		"tune FILE --require 'start>=70s'"}},
	{"internal/answers/rollout/testdata/reports", `\.yaml$`, 24,
		[]string{"check FILE", "rollout FILE --start 8s --runs 2"}},
	{"internal/answers/incident/testdata", `(pastes|threads|recordings)/.*\.(txt|json|yaml|log)$`, 4,
		[]string{"incident FILE"}},
	{"cmd/probesim/testdata", `printed/.*\.yaml$`, 1, []string{"incident FILE --scenario NEW --force"}},
}

// pairs are a command that prints another one.
var pairs = []string{"check -> rollout", "check -> run", "compare -> rollout", "diff -> diff", "incident -> check",
	"incident -> run", "incident -> tune", "init -> run", "rollout -> rollout", "run -> run", "run -> why"}

// TestPrintedCommands runs the commands that others print, some of those that are alike: each is
// valid, and what happens to a program takes part in the run.
func TestPrintedCommands(t *testing.T) {
	t.Chdir("../..")
	dir, commands := t.TempDir(), map[string]string{}
	for _, p := range printers {
		for _, name := range someOf(t, p.root, p.files, p.every) {
			data, err := os.ReadFile(name)
			changed := filepath.Join(dir, filepath.Base(name))
			if err == nil {
				err = os.WriteFile(changed, imageLine.ReplaceAll(data, []byte("$1 example.com/other:2")), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, command := range p.commands {
				args := words(strings.NewReplacer("FILE", name, "CHANGED", changed, "NEW",
					filepath.Join(dir, "new-"+filepath.Base(name))).Replace(command))
				var out, errs bytes.Buffer
				execute(t.Context(), args, &out, &errs)
				text := continued.ReplaceAllString(out.String()+errs.String(), " ")
				for _, m := range printedCommand.FindAllStringSubmatch(text, -1) {
					if !strings.Contains(m[1], "POD") { // for people to fill in
						commands[m[1]] = args[0] + " -> " + words(m[1])[0]
					}
				}
			}
		}
	}
	ran, alike := map[string]int{}, map[string]int{}
	for _, command := range slices.Sorted(maps.Keys(commands)) {
		shape := commands[command] + ofFile.ReplaceAllString(command, "N")
		if alike[shape]++; alike[shape] <= 4 {
			ran[commands[command]]++
			runPrinted(t, command)
		}
	}
	if got := slices.Sorted(maps.Keys(ran)); !slices.Equal(got, pairs) {
		t.Errorf("the commands that were run are %v, of %q, not of %q", ran, got, pairs)
	}
}

// someOf returns some of the files below a directory whose names match.
func someOf(t *testing.T, root, files string, every int) (names []string) {
	t.Helper()
	is := regexp.MustCompile(files)
	n := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && is.MatchString(filepath.ToSlash(name)) {
			if n++; n%every == 0 {
				names = append(names, name)
			}
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatal(root, err)
	}
	return names
}

// words returns the words of a command, as a shell does.
func words(command string) (list []string) {
	for _, word := range ofShell.FindAllString(command, -1) {
		list = append(list, strings.ReplaceAll(word, "'", ""))
	}
	return list
}

// runPrinted runs a command that was printed. MANIFEST stands for a file that has the container.
func runPrinted(t *testing.T, command string) {
	t.Helper()
	if m := ofContainer.FindStringSubmatch(command); m != nil && strings.Contains(command, " MANIFEST ") {
		name := filepath.Join(t.TempDir(), "pod.yaml")
		pod := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - {name: %s, "+
			"image: web:1, livenessProbe: {httpGet: {port: 80}}}\n", m[1]+m[2])
		if err := os.WriteFile(name, []byte(pod), 0o600); err != nil {
			t.Fatal(err)
		}
		command = strings.Replace(command, "MANIFEST", name, 1)
	}
	fewer := strings.Replace(command, "--seed 1..100", "--seed 1..3", 1)
	if strings.HasPrefix(command, "rollout ") && !strings.Contains(command, "--seed") {
		fewer += " --runs 2"
	}
	var out, errs bytes.Buffer
	code := execute(t.Context(), words(fewer), &out, &errs)
	runs := 1 // a start can be over before the first probe in some of the seeds
	if strings.Contains(command, "--seed") {
		runs = 3
	}
	unused := strings.Count(out.String()+errs.String(), "never applied") >= runs
	ended := strings.Contains(out.String(), "DeadlineExceeded") // the figures leave out activeDeadlineSeconds
	if code > 1 || strings.Contains(command, "--app") && unused && !ended {
		t.Errorf("probesim %s: exit code %d\n%s%s", command, code, errs.String(), out.String())
	}
}
