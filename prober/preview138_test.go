package prober_test

import (
	"testing"

	"probesim.dev/prober"
	"probesim.dev/prober/preview138"
)

func TestScriptsOfThePreview(t *testing.T) {
	prober.RunScripts(t, "preview138/testdata", preview138.NewManager)
}
