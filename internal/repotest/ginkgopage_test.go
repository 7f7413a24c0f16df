package repotest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestGinkgoPage follows docs/ginkgo.md from an empty module: it writes each go and yaml block
// whose first line is a comment with a file name, and runs each sh block, in order. A checkout of
// this module is beside the new one, as the page says.
func TestGinkgoPage(t *testing.T) {
	switch {
	case runtime.GOOS == "windows":
		t.Skip("the commands are for a POSIX shell")
	case os.Getenv("CI") == "":
		t.Skip("builds a module, which takes half a minute: set CI, as .ci/run does")
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(root, filepath.Join(dir, "probesim")); err != nil {
		t.Fatal(err)
	}
	files, commands := 0, 0
	for _, block := range blocksOf(read(t, "docs/ginkgo.md")) {
		lang, text, _ := strings.Cut(block, "\n")
		first, _, _ := strings.Cut(text, "\n")
		name, named := strings.CutPrefix(strings.TrimPrefix(first, "//"),
			map[string]string{"go": " ", "yaml": "# "}[lang])
		switch {
		case lang == "sh":
			commands++
			dir = shell(t, dir, text)
		case named && !strings.Contains(name, " ") && strings.HasSuffix(name, "."+lang):
			files++
			name = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if files != 3 || commands != 5 {
		t.Errorf("the page has %d files and %d blocks of commands, want 3 and 5", files, commands)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !strings.Contains(string(mod), "probesim.dev v0.0.0\n") ||
		!strings.Contains(string(mod), "github.com/onsi/gomega ") {
		t.Errorf("go.mod lacks a requirement: %v\n%s", err, mod)
	}
	if report, err := os.ReadFile(filepath.Join(dir, "junit.xml")); err != nil ||
		!strings.Contains(string(report), "cold-start [v") {
		t.Errorf("junit.xml lacks the scenario: %v\n%s", err, report)
	}
}

// blocksOf returns the fenced blocks of a page: the language, and the text in the lines below.
func blocksOf(page string) (blocks []string) {
	for i, part := range strings.Split(page, "```") {
		if i%2 == 1 {
			blocks = append(blocks, part)
		}
	}
	return blocks
}

// shell runs commands in a directory, and returns the directory in which they end.
func shell(t *testing.T, dir, commands string) string {
	end := filepath.Join(t.TempDir(), "pwd")
	cmd := exec.Command("sh", "-e", "-c", commands+"\npwd >"+end)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s: %v", commands, out, err)
	}
	text, err := os.ReadFile(end)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
