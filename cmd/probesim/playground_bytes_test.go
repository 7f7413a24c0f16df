package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/long"
)

// asker defines the function ask of the page, which runs a command line in a worker of its own.
const asker = `(async () => {
	const module = await WebAssembly.compileStreaming(fetch('probesim.wasm'));
	const worker = new Worker('worker.js');
	const receive = () => new Promise(done => { worker.onmessage = ({data}) => done(data); });
	const ready = receive();
	worker.postMessage({module});
	await ready;
	window.ask = job => { const answer = receive(); worker.postMessage({id: 1, ...job}); return answer; };
})()`

// outcome is what a command prints, and its exit code.
type outcome struct {
	Code           int
	Stdout, Stderr string
	Failed         string // why the program in the page ended
}

// TestSameBytes runs command lines in the page and on this machine. The answers must be the same
// bytes. It takes a few manifests, scenarios and recordings of the repository, and all of them with
// PROBESIM_LONG=1.
func TestSameBytes(t *testing.T) {
	b, _ := openPlayground(t)
	b.eval(asker, nil)
	t.Chdir("../..")
	lines := commandLines(t)
	for _, args := range lines {
		var stdout, stderr bytes.Buffer
		want := outcome{Code: execute(t.Context(), args, &stdout, &stderr)}
		want.Stdout, want.Stderr = stdout.String(), stderr.String()
		var files []pageFile
		for _, name := range beside(t, args[1]) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, pageFile{Name: name, Text: string(data)})
		}
		job, err := json.Marshal(map[string]any{"args": args, "files": files})
		if err != nil {
			t.Fatal(err)
		}
		var got outcome
		if b.eval("ask("+string(job)+")", &got); got != want {
			t.Errorf("probesim %s:\nin the page %+v\nthe command %+v", strings.Join(args, " "), got, want)
		}
	}
	t.Logf("%d command lines", len(lines))
}

// commandLines returns the command lines about the files of the library and about recordings.
func commandLines(t *testing.T) (list [][]string) {
	t.Helper()
	for _, one := range []struct {
		dir, extension string
		command        []string
	}{
		{"scenarios/library", ".yaml", []string{"run", "", "-o", "timeline"}},
		{"scenarios/library", ".yaml", []string{"check", "", "--start", "24s..32s", "-o", "json"}},
		{"scenarios/library", ".yaml", []string{"check", "", "-o", "html"}},
		{"scenarios/library/quickstart", ".yaml", []string{"run", "", "-o", "html"}},
		{"scenarios/library/rollouts", ".yaml", []string{"rollout", "", "--runs", "3", "-o", "html"}},
		{"internal/answers/incident/testdata", ".txt", []string{"incident", ""}},
		{"internal/answers/incident/testdata", ".txt", []string{"incident", "", "-o", "html"}},
	} {
		names := filesBelow(t, one.dir, one.extension)
		for i, name := range names {
			if !long.Enabled() && i%max(1, len(names)/4) != 0 {
				continue
			}
			args := slices.Clone(one.command)
			args[1] = name
			list = append(list, args)
		}
	}
	return list
}

// filesBelow returns the files below a directory with some extensions.
func filesBelow(t *testing.T, dir string, extensions ...string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains(extensions, filepath.Ext(name)) {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no files, %v", dir, err)
	}
	return names
}

// beside returns the files that a file can name, and the file. A manifest of CoreDNS is a template.
func beside(t *testing.T, name string) []string {
	t.Helper()
	if filepath.Ext(name) != ".yaml" {
		return []string{name}
	}
	return filesBelow(t, filepath.Dir(name), ".yaml", ".sed")
}
