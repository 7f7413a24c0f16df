package repotest

import (
	"bytes"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// realWorld reports whether a package may use real time, files and goroutines. Only the command and
// its engine may.
func realWorld(dir string) bool {
	return under(dir, "cmd") || under(dir, "internal/runner")
}

// timeless lists what packages below the command must not use from package time.
var timeless = []string{"Now", "Sleep", "After", "AfterFunc", "NewTicker", "NewTimer", "Since", "Tick", "Until",
	"Local"}

// realTime lists the functions that may start goroutines and use real time, by package, receiver
// and name, with the reason why no result depends on it.
var realTime = map[string]string{
	"node.(*watchdog).run": "limits the real time of a handler of the user; the simulation waits for the handler, " +
		"and a handler that exceeds the limit ends the run. Of one that only exceeds the timeout of its probe, " +
		"SlowHandler says so",
}

// TestNothingButTheKernelMovesTime bans everything that could make two runs of one input differ, or
// wait in real time.
func TestNothingButTheKernelMovesTime(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || realWorld(s.dir) {
			continue
		}
		for name, spec := range s.imports() {
			if name == "math/rand" || name == "math/rand/v2" || name == "crypto/rand" || name == "hash/maphash" {
				t.Errorf("%s: %s draws values that no seed determines; draw through the kernel (sim.Fraction, a "+
					"seeded hash)", s.at(spec), name)
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				where := s.dir + "." + qualified(n)
				if realTime[where] != "" {
					used[where] = true
					return false
				}
			case *ast.GoStmt:
				t.Errorf("%s: the order of goroutines differs from run to run; start a process (sim.Go)", s.at(n))
			case *ast.SelectStmt:
				t.Errorf("%s: a select statement takes any ready case; wait in sim.Select, where the chooser decides",
					s.at(n))
			case *ast.ChanType:
				t.Errorf("%s: a channel needs goroutines; use sim.Chan", s.at(n))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(timeless, n.Sel.Name) {
					t.Errorf("%s: time.%s is real time; take the time from the kernel (sim.Now) or from a clock that "+
						"the caller passes in", s.at(n), n.Sel.Name)
				}
			}
			return true
		})
	}
	for where := range realTime {
		if !used[where] {
			t.Errorf("there is no function %s; delete it from realTime in determinism_test.go", where)
		}
	}
}

// outside lists packages of the standard library that reach the world outside the process.
var outside = []string{
	"os", "os/exec", "os/signal", "os/user", "flag", "io/fs", "io/ioutil", "path/filepath", "embed", "net", "net/http",
	"syscall", "log",
	"log/slog", "runtime", "runtime/debug", "plugin", "unsafe",
}

// inside lists the exceptions to outside, as "package import", with the reason.
var inside = map[string]string{
	"prober net/http": "its client follows redirects as the kubelet's does; the transport below it runs on the " +
		"kernel",
	"kubelet net/http":     "passes requests on to the programs in containers",
	"fakeruntime net/http": "a program may be an http.Handler; nothing listens",
	"node net/http":        "guards the http.Handler of a program; nothing listens",
	"fakeruntime net":      "http.Hijacker has a net.Conn in its signature",
	"node runtime":         "names the places of the user's calls in errors",

	"internal/input os":    "reads the files that the command and package scenarios name, within limits",
	"internal/input io/fs": "takes the path out of the errors of these files",

	"internal/long os": "tells tests the size of their samples; only they import it",

	"sim/internal/coroutine runtime": "ends coroutines that nothing refers to; no simulation uses them any more",

	"explore runtime/debug": "shows the place of a panic in the error of a run",

	"docs embed":                              "compiles in the page of the findings",
	"internal/answers/incident embed":         "compiles in the words that kubectl and the kubelet write",
	"internal/answers/incident/verdict embed": "compiles in the sentences of the verdicts",

	"internal/show/document embed": "compiles in the style sheet and the script of all pages",
	"internal/show/html embed":     "compiles in the script of the page",
}

// TestTheWorldOutsideStaysOutside checks that only the command, scenarios, probetest and ginkgokit
// read files, flags or the environment.
func TestTheWorldOutsideStaysOutside(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || realWorld(s.dir) || under(s.dir, "scenarios") || under(s.dir, "internal/scenarios") ||
			under(s.dir, "ginkgokit") ||
			under(s.dir, "probetest") {
			continue
		}
		for name, spec := range s.imports() {
			if slices.Contains(outside, name) && inside[s.dir+" "+name] == "" {
				t.Errorf("%s: %s must not import %s; let the command or package scenarios pass in the data", s.at(spec),
					s.dir, name)
			}
		}
	}
}

// machinePath matches paths that mean something on one machine only. Paths below /tmp are allowed:
// commands in containers use them.
var machinePath = regexp.MustCompile(`(^|[\s"'` + "`" + `(=:])(/ro` + `ot|/ho` + `me/[a-z]|/wo` + `rk|/Us` +
	`ers|/tmp/(go-build|bash))/\S*|[A-Z]:\\\\?Us` + `ers`)

func TestNoMachinePaths(t *testing.T) {
	walk(t, true, func(name string, text []byte) {
		if bytes.IndexByte(text, 0) >= 0 {
			return // not text
		}
		for i, line := range strings.Split(string(text), "\n") {
			if p := machinePath.FindString(line); p != "" {
				t.Errorf("%s:%d: %q is a path of one machine; use a path relative to the module, or an invented one",
					name, i+1, strings.TrimSpace(p))
			}
		}
	})
}

// TestPropertyTestsRepeat checks that a property test draws the same examples in each run: a
// failure then belongs to the change that caused it. The nightly job (.ci/nightly) passes a new
// -rapid.seed instead.
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
			t.Errorf("%s draws different examples in each run: put var _ = flag.Set(\"rapid.seed\", \"1\") into a "+
				"test file of the package", name)
		}
	}
}
