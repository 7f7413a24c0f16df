package shrink

import (
	"fmt"
	"io/fs"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestMain lets the garbage collector run less often: the heap of a run is small, and the runs
// allocate much.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}

// TestShrink shrinks the files in testdata/shrink. After an intended change, run it with -rewrite
// and review the diff.
//
//	file NAME               adds a file that later scenarios can take workloads from
//	shrink shows=(A, B, …)  shrinks a file as long as each of these RE2 expressions matches: with the prefix
//	                        trace:, the trace of the first run, otherwise the file. The arguments trials=N
//	                        and comment=TEXT set the options.
func TestShrink(t *testing.T) {
	datadriven.Walk(t, "testdata/shrink", func(t *testing.T, path string) {
		files := map[string][]byte{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				files[d.CmdArgs[0].Key] = []byte(d.Input)
				return ""
			case "shrink":
				return shrinkCommand(t, d, files)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func shrinkCommand(t *testing.T, d *datadriven.TestData, files map[string][]byte) string {
	o := Options{ReadFile: func(path string) ([]byte, error) {
		if data, ok := files[path]; ok {
			return data, nil
		}
		return nil, fs.ErrNotExist
	}}
	var shows []string
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "shows":
			shows = arg.Vals
		case "trials":
			o.Trials, _ = strconv.Atoi(arg.Vals[0])
		case "comment":
			o.Comment = strings.Join(arg.Vals, "\n")
		}
	}
	r, err := File([]byte(d.Input), func(file []byte) (string, bool) { return "", holds(t, file, o, shows) }, o)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	how := "minimal"
	if !r.Minimal {
		how = "not minimal"
	}
	return fmt.Sprintf("%s\n%s after %d trials\n", r.File, how, r.Trials)
}

// holds reports whether all expressions in shows match; see TestShrink.
func holds(t *testing.T, file []byte, o Options, shows []string) bool {
	t.Helper()
	loaded, err := scenarios.LoadBytes(fileName, file, o.ReadFile)
	if err != nil {
		t.Fatalf("File tried a file that does not load: %v\n%s", err, file)
	}
	records := ""
	for _, show := range shows {
		pattern, inTrace := strings.CutPrefix(show, "trace:")
		text := string(file)
		if inTrace {
			if records == "" {
				records = string(observed(t, loaded[0], profile.Newest()))
			}
			text = records
		}
		if !regexp.MustCompile(pattern).MatchString(text) {
			return false
		}
	}
	return true
}

// observed simulates the first run of a scenario and returns its observable records, a line each.
func observed(t *testing.T, s *scenarios.Scenario, p profile.Profile) []byte {
	t.Helper()
	plan := s.Plans()[0]
	n := node.New(node.Options{Profile: p, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays,
		Config: plan.Config, ControlPlane: plan.ControlPlane()})
	defer n.Close()
	drive.Start(plan, n)
	if err := n.RunUntil(virtual.At(plan.Duration)); err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for _, r := range n.Trace().Records() {
		if r.Kind.Observable() {
			lines = append(trace.AppendObserved(lines, &r), '\n')
		}
	}
	return lines
}
