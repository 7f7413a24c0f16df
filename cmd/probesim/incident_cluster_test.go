package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestWithoutKubectl checks that incident says what to do if there is no kubectl.
func TestWithoutKubectl(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out, errs bytes.Buffer
	code := execute(t.Context(), []string{"incident", "--from-cluster", "web-1"}, &out, &errs)
	if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), "kubectl is not on the PATH") ||
		strings.Contains(errs.String(), "running") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out.String(), errs.String())
	}
}
