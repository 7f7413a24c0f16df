package probesim_test

import (
	"bytes"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// realWorld are the packages that may meet real time, files and threads: the command, and for files the
// scenarios.
func realWorld(dir string) bool { return under(dir, "cmd") }

// timeless is what a package below the command must not take from package time.
var timeless = []string{"Now", "Sleep", "After", "AfterFunc", "NewTicker", "NewTimer", "Since", "Tick", "Until", "Local"}

// TestNothingButTheKernelMovesTime bans what makes two runs of one input differ, or wait.
func TestNothingButTheKernelMovesTime(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || realWorld(s.dir) {
			continue
		}
		for name, spec := range s.imports() {
			if name == "math/rand" || name == "math/rand/v2" || name == "crypto/rand" || name == "hash/maphash" {
				t.Errorf("%s: %s draws what no seed decides; draw through the kernel (sim.Fraction, a seeded hash)", s.at(spec), name)
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine runs when it likes; start a process (sim.Go)", s.at(n))
			case *ast.SelectStmt:
				t.Errorf("%s: a select takes any case that is ready; wait in sim.Select, where the chooser decides", s.at(n))
			case *ast.ChanType:
				t.Errorf("%s: a channel needs goroutines; use sim.Chan", s.at(n))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(timeless, n.Sel.Name) {
					t.Errorf("%s: time.%s is real time; take the time from the kernel (sim.Now) or a clock that is handed in", s.at(n), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// outside are packages of the standard library through which the world outside is met.
var outside = []string{
	"os", "os/exec", "os/signal", "os/user", "flag", "io/fs", "io/ioutil", "path/filepath", "embed", "net", "net/http", "syscall", "log",
	"log/slog", "runtime", "runtime/debug", "plugin", "unsafe",
}

// inside are packages of that list that a package may use all the same, and why.
var inside = map[string]string{
	"prober net/http":      "its client follows redirects as the kubelet's does; the transport under it is the kernel's",
	"kubelet net/http":     "passes requests on",
	"fakeruntime net/http": "programs may be handlers; nothing listens",

	"report/html embed": "style and script of a page are files of their own, and compiled in",
}

// Nothing below the command and the scenarios reads a file, a flag or the environment.
func TestTheWorldOutsideStaysOutside(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || realWorld(s.dir) || under(s.dir, "scenarios") || under(s.dir, "ginkgokit") || under(s.dir, "probetest") {
			continue
		}
		for name, spec := range s.imports() {
			if slices.Contains(outside, name) && inside[s.dir+" "+name] == "" {
				t.Errorf("%s: %s must not import %s; have the command or package scenarios hand in what is needed", s.at(spec), s.dir, name)
			}
		}
	}
}

// machinePath is a path that means something on one machine only. Paths below /tmp are what commands
// in containers use.
var machinePath = regexp.MustCompile(`(^|[\s"'` + "`" + `(=:])(/ro` + `ot|/ho` + `me/[a-z]|/wo` + `rk|/Us` + `ers|/tmp/(go-build|bash))/\S*|[A-Z]:\\\\?Us` + `ers`)

func TestNoMachinePaths(t *testing.T) {
	walk(t, true, func(name string, text []byte) {
		if bytes.IndexByte(text, 0) >= 0 {
			return // not text
		}
		for i, line := range strings.Split(string(text), "\n") {
			if p := machinePath.FindString(line); p != "" {
				t.Errorf("%s:%d: %q is a path of one machine; write it relative to the module, or make it up", name, i+1, strings.TrimSpace(p))
			}
		}
	})
}

// TestPropertyTestsRepeat: a property test that draws other examples in each run fails for whoever comes next.
func TestPropertyTestsRepeat(t *testing.T) {
	fixed, uses := map[string]bool{}, map[string]string{}
	for _, s := range sources(t) {
		fixed[s.dir] = fixed[s.dir] || strings.Contains(s.text, "\nvar _ = flag.Set(\"rapid.seed\", \"1\")\n")
		if _, imports := s.imports()["pgregory.net/rapid"]; imports && s.test {
			uses[s.dir] = s.name
		}
	}
	for dir, name := range uses {
		if !fixed[dir] {
			t.Errorf("%s draws other examples in each run: say var _ = flag.Set(\"rapid.seed\", \"1\") in a test file of its package", name)
		}
	}
}
