package repotest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"probesim.dev/internal/answers/check"
)

// TestFindingsPage checks that docs/findings.md is what 'probesim check --explain' prints. With
// -update it writes the page.
func TestFindingsPage(t *testing.T) {
	const page = "docs/findings.md"
	want := findingsPage()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if string(read(t, page)) != want {
		t.Errorf("%s differs from the texts of check.Rules: run go test ./internal/repotest -run TestFindingsPage "+
			"-update", page)
	}
}

// findingsPage returns what all kinds of findings mean, as a page in Markdown.
func findingsPage() string {
	var b strings.Builder
	b.WriteString("# Findings\n\n[`probesim check`](check.md#findings) finds settings that are a problem. " +
		"`probesim check --explain ID` prints the same texts. The findings most worth a change come first.\n")
	for _, rule := range check.Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n*%s.* %s\n\n%s\n\n%s\n", rule.ID,
			strings.ToUpper(rule.Severity[:1])+rule.Severity[1:], rule.Text, rule.Kubelet, rule.Do)
	}
	return b.String()
}
