package repotest

import (
	"fmt"
	"strings"
	"testing"

	"probesim.dev/internal/answers/check"
)

// TestFindingsPage checks that docs/findings.md has the form that package check reads.
func TestFindingsPage(t *testing.T) {
	if got := string(read(t, "docs/findings.md")); got != findingsPage() {
		t.Errorf("check.Rules reads docs/findings.md as\n%s", findingsPage())
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
