package repotest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the current output of the commands to the documents; review the diff")

// inReadme is an environment variable of the go test command that this test runs for the README.
const inReadme = "PROBESIM_README"

// documents are the files whose commands the test runs.
var documents = []string{
	"README.md", "docs/authoring.md", "docs/check.md", "docs/ci.md", "docs/diff.md", "docs/explore.md",
	"docs/incident.md", "docs/kubernetes-1.38.md", "docs/limits.md", "docs/measure.md", "docs/reports.md",
	"docs/rollout.md", "docs/why.md",
}

// TestReadme runs the commands in README.md and other documents, and compares their output with the
// documented output. A console block has commands, each after a dollar sign, with their output
// below. A line of three dots stands for any lines. A yaml or text block whose first line is a
// comment with a file name is the content of this file.
func TestReadme(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
	if os.Getenv(inReadme) != "" {
		t.Skip("this run belongs to the go test command of the README")
	}
	upstream, err := filepath.Glob("conformance/upstream/[0-9a-z]*.md")
	if err != nil || len(upstream) == 0 {
		t.Fatalf("conformance/upstream: %d texts, %v", len(upstream), err)
	}
	for _, name := range slices.Concat(documents, upstream) {
		t.Run(filepath.Base(name), func(t *testing.T) { testDocument(t, name) })
	}
}

func testDocument(t *testing.T, name string) {
	text := read(t, name)
	r := &readme{T: t, name: name, dir: t.TempDir()}
	r.prepare()
	result := r.document(text)
	if r.commands == 0 {
		t.Errorf("%s has no commands", name)
	}
	if !*update || result == text {
		return
	}
	if err := os.WriteFile(name, []byte(result), 0o666); err != nil {
		t.Fatal(err)
	}
}

// readme runs the commands of a document in a directory with the files that they need.
type readme struct {
	*testing.T
	name     string
	dir      string
	commands int
}

func (r *readme) prepare() {
	root, err := filepath.Abs(".")
	if err != nil {
		r.Fatal(err)
	}
	for link, target := range map[string]string{"scenarios": filepath.Join(root, "scenarios"),
		"probesim": filepath.Join(commandDir(r.T), "probesim")} {
		if err := os.Symlink(target, filepath.Join(r.dir, link)); err != nil {
			r.Fatal(err)
		}
	}
}

// document returns the text with the current output of its commands.
func (r *readme) document(text string) string {
	var result []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		result = append(result, lines[i])
		lang, fence := strings.CutPrefix(lines[i], "```")
		if !fence {
			continue
		}
		n := slices.Index(lines[i+1:], "```")
		if n < 0 {
			r.Fatalf("%s:%d: the block has no end", r.name, i+1)
		}
		block := lines[i+1 : i+1+n]
		switch lang {
		case "console":
			block = r.console(block, i+2)
		case "yaml", "text":
			r.file(block)
		}
		result = append(append(result, block...), "```")
		i += n + 1
	}
	return strings.Join(result, "\n")
}

func (r *readme) file(block []string) {
	name, named := strings.CutPrefix(block[0], "# ")
	if !named || filepath.Base(name) != name {
		return
	}
	writeFiles(r.T, r.dir, map[string]string{name: strings.Join(block, "\n") + "\n"})
}

// console runs the commands of a block, and returns the block with their output. line is the first
// line of the block.
func (r *readme) console(block []string, line int) []string {
	var result []string
	for i := 0; i < len(block); {
		command, ok := strings.CutPrefix(block[i], "$ ")
		if !ok {
			r.Fatalf("%s:%d: %q does not follow a command", r.name, line+i, block[i])
		}
		end := i + 1
		for end < len(block) && !strings.HasPrefix(block[end], "$ ") {
			end++
		}
		r.commands++
		got := r.check(command, block[i+1:end], line+i)
		result = append(append(result, block[i]), got...)
		i = end
	}
	return result
}

// check runs a command and returns the part of its output that the document shows.
func (r *readme) check(command string, shown []string, line int) []string {
	if command == "go test ./..." {
		return r.goTest(shown, line)
	}
	// Run a built binary: go run would link it each time.
	shell := exec.Command("sh", "-c", strings.ReplaceAll(command, "go run ./cmd/probesim", "./probesim"))
	shell.Dir = r.dir
	shell.Env = append(withPath(r.T), "LC_ALL=C.UTF-8", "COLUMNS=80", "NO_COLOR=1")
	out, err := shell.CombinedOutput()
	if err != nil && shell.ProcessState == nil {
		r.Fatal(err)
	}
	var got []string // nil without output
	if len(out) > 0 {
		got = strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	}
	part := shownOf(got, shown)
	if !*update && !slices.Equal(part, shown) {
		r.Errorf("%s:%d: %s\nprints\n%s\nIf this output is correct, run: go test ./internal/repotest -run TestReadme "+
			"-update", r.name, line, command, strings.Join(got, "\n"))
	}
	return part
}

// shownOf returns the output with the same number of lines before and after three dots as the
// document shows.
func shownOf(got, shown []string) []string {
	dots := slices.Index(shown, "...")
	if after := len(shown) - dots - 1; dots >= 0 && dots+after < len(got) {
		return slices.Concat(got[:dots], []string{"..."}, got[len(got)-after:])
	}
	return got
}

// goTest checks that the output lists packages of the module. It runs no tests, because this test
// is one of them; with -update it runs all others.
func (r *readme) goTest(shown []string, line int) []string {
	if *update {
		test := exec.Command("go", "test", "-count=1", "./...")
		test.Env = append(os.Environ(), inReadme+"=1")
		out, err := test.CombinedOutput()
		if err != nil {
			r.Errorf("%s:%d: go test ./... fails:\n%s", r.name, line, out)
			return shown
		}
		return shownOf(strings.Split(strings.TrimSpace(string(out)), "\n"), shown)
	}
	out, err := exec.Command("go", "list", "./...").Output()
	if err != nil {
		r.Fatal(err)
	}
	for _, l := range shown {
		if fields := strings.Split(l, "\t"); l != "..." && (fields[0] != "ok  " ||
			!slices.Contains(strings.Fields(string(out)), fields[1])) {
			r.Errorf("%s:%d: go test ./... does not print %q. Run: go test ./internal/repotest -run TestReadme -update",
				r.name, line, l)
		}
	}
	return shown
}
