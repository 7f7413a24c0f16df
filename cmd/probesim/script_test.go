package main

import (
	"flag"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the current output of the commands to the scripts; review the diff")

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"probesim": main}) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", UpdateScripts: *update})
}
