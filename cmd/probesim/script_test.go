package main

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the current output of the commands to the scripts; review the diff")

func TestMain(m *testing.M) {
	command := func() {
		if d, err := time.ParseDuration(os.Getenv(patienceVariable)); err == nil {
			patience = d
		}
		main()
	}
	testscript.Main(tests{m}, map[string]func(){"probesim": command, "kubectl-probesim": command})
}

// patienceVariable is the variable of the environment with the patience of the command, for tests
// that expect it to end by itself on a busy machine.
const patienceVariable = "PROBESIM_TEST_PATIENCE"

// tests runs the tests without the variables of GitHub Actions, so that they do not write to the
// job summary of a workflow.
type tests struct{ *testing.M }

func (t tests) Run() int {
	os.Unsetenv("GITHUB_STEP_SUMMARY")
	os.Unsetenv("GITHUB_WORKSPACE")
	defer func() { os.RemoveAll(siteBuilt) }()
	return t.M.Run()
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", UpdateScripts: *update})
}
