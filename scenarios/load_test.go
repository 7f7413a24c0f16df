package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/scenarios/plan"
)

// TestLoad loads the files in testdata/load and compares the errors. After you change a message,
// run the test with -rewrite and review the diff.
//
//	manifest NAME   adds a file that later cases can use manifests from
//	load            loads a scenario file named s.yaml and shows its runs, or all errors
func TestLoad(t *testing.T) {
	datadriven.Walk(t, "testdata/load", func(t *testing.T, path string) {
		files := map[string][]byte{}
		readFile := func(path string) ([]byte, error) {
			if data, ok := files[path]; ok {
				return data, nil
			}
			return nil, fs.ErrNotExist
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "manifest":
				files[d.CmdArgs[0].Key] = []byte(d.Input)
				return ""
			case "load":
				loaded, err := LoadBytes("s.yaml", []byte(d.Input), readFile)
				if err != nil {
					return err.Error() + "\n"
				}
				return describe(loaded)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// describe lists the runs of scenarios, and the pods of the first run of each.
func describe(loaded []*plan.Scenario) string {
	var b strings.Builder
	for _, s := range loaded {
		plans := s.Plans()
		fmt.Fprintf(&b, "%s: %d runs of %s, kubelet up %s\n", s.Metadata.Name, len(plans), plans[0].Duration,
			plans[0].Uptime)
		for _, p := range plans[0].Pods() {
			fmt.Fprintf(&b, "  %s %s/%s, of %s, uid %s\n", p.At, p.Pod.Namespace, p.Pod.Name, p.Workload, p.Pod.UID)
		}
		for _, step := range s.Spec.Steps {
			fmt.Fprintf(&b, "  %s: step %s\n", step.Pos, step.Text)
		}
		for _, e := range s.Spec.Expect {
			fmt.Fprintf(&b, "  %s: expect %s\n", e.Pos, e.Text)
		}
	}
	return b.String()
}

// TestFormatExamples loads the examples of the reference. Their only errors may be that something
// is not supported yet.
func TestFormatExamples(t *testing.T) {
	files, err := filepath.Glob("testdata/format/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		_, err := Load(file)
		var errs Errors
		if err != nil && !errors.As(err, &errs) {
			t.Errorf("%s: %v is not of type Errors", file, err)
		}
		for _, e := range errs {
			if !strings.Contains(e.Message, "is not supported yet") {
				t.Error(e)
			}
		}
	}
}
