package site_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"probesim.dev/site/internal/pages"
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
	b := openBrowser(t, 1280, 900)
	native := os.Getenv("PROBESIM_NATIVE")
	if native == "" {
		native = filepath.Join(t.TempDir(), "probesim")
		build := exec.Command("go", "build", "-o", native, "./cmd/probesim")
		build.Dir = ".."
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	b.open(serve(t).URL + "/")
	b.eval(asker, nil)
	lines := commandLines(t)
	for _, args := range lines {
		want := run(t, native, args)
		var files []pages.File
		for _, name := range beside(t, args[1]) {
			data, err := os.ReadFile(filepath.Join("..", name))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, pages.File{Name: name, Text: string(data)})
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

func run(t *testing.T, native string, args []string) (o outcome) {
	t.Helper()
	cmd := exec.Command(native, args...)
	cmd.Dir = ".."
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		o.Code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	o.Stdout, o.Stderr = stdout.String(), stderr.String()
	return o
}

// commandLines returns the command lines about the files of the library and about recordings.
func commandLines(t *testing.T) (list [][]string) {
	t.Helper()
	for _, one := range []struct {
		pattern string
		command []string
	}{
		{"scenarios/library/*/*.yaml", []string{"run", "", "-o", "timeline"}},
		{"scenarios/library/*/*.yaml", []string{"check", "", "--start", "24s..32s", "-o", "json"}},
		{"scenarios/library/rollouts/*.yaml", []string{"rollout", "", "--runs", "3"}},
		{"internal/answers/incident/testdata/*/*.txt", []string{"incident", ""}},
		{"internal/answers/incident/testdata/*/*.txt", []string{"incident", "", "-o", "html"}},
	} {
		names, err := filepath.Glob(filepath.Join("..", one.pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no files, %v", one.pattern, err)
		}
		for i, name := range names {
			if os.Getenv("PROBESIM_LONG") == "" && i%max(1, len(names)/4) != 0 {
				continue
			}
			args := append([]string{}, one.command...)
			args[1] = strings.TrimPrefix(filepath.ToSlash(name), "../")
			list = append(list, args)
		}
	}
	return list
}

// beside returns the YAML files in the directory of a file, and the file.
func beside(t *testing.T, name string) []string {
	t.Helper()
	if filepath.Ext(name) != ".yaml" {
		return []string{name}
	}
	names, err := filepath.Glob(filepath.Join("..", filepath.Dir(name), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = strings.TrimPrefix(filepath.ToSlash(names[i]), "../")
	}
	return names
}
