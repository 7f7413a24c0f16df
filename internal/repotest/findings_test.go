package repotest

import (
	"os"
	"strings"
	"testing"

	"probesim.dev/internal/answers/check/render"
)

// TestFindingsPage checks that docs/findings.md is what 'probesim check --explain' prints. With
// -update it writes the page.
func TestFindingsPage(t *testing.T) {
	var b strings.Builder
	if err := render.FindingsPage(&b); err != nil {
		t.Fatal(err)
	}
	const page = "docs/findings.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if string(read(t, page)) != b.String() {
		t.Errorf("%s differs from the texts of check.Rules: run go test ./internal/repotest -run TestFindingsPage "+
			"-update", page)
	}
}
