package main

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	continued = regexp.MustCompile(` \\\n\s+`)
	ofShell   = regexp.MustCompile(`'[^']*'|[^\s]+`)
)

// TestPrintedCommands runs each command that check prints about the manifests of the library. Each
// shows its finding: it is valid, and what happens to a program takes part in the run.
func TestPrintedCommands(t *testing.T) {
	t.Chdir("../..")
	commands := map[string]bool{}
	err := filepath.WalkDir("scenarios/library", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" {
			return err
		}
		variants := [][]string{nil}
		if strings.Contains(name, "manifests") {
			variants = append(variants, []string{"--start", "40s..70s", "--stop", "3s..29s"})
		}
		for _, flags := range variants {
			var out, errs bytes.Buffer
			execute(t.Context(), append([]string{"check", name}, flags...), &out, &errs)
			for line := range strings.Lines(continued.ReplaceAllString(out.String(), " ")) {
				if command, is := strings.CutPrefix(strings.TrimSpace(line), "probesim "); is {
					commands[command] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for command := range commands {
		var args []string
		for _, word := range ofShell.FindAllString(strings.Replace(command, "--seed 1..100", "--seed 1..3", 1), -1) {
			args = append(args, strings.Trim(word, "'"))
		}
		var out, errs bytes.Buffer
		code := execute(t.Context(), args, &out, &errs)
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
	if len(commands) < 300 {
		t.Errorf("%d commands were run", len(commands))
	}
}
