package ginkgokit

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentation checks that the code and output in docs/ginkgo.md are copies of tested code and
// output. TestGinkgoPage of internal/repotest runs the blocks that are files.
func TestDocumentation(t *testing.T) {
	shown := map[string][]string{ // the files that can contain a block, by language
		"go": {"../probetest/example_test.go", "example_test.go", "../examples/probes/suite_test.go",
			"../examples/plain/plain_test.go", "../probetest/synctest_test.go"},
		"text": {"../probetest/example_test.go", "../probetest/meet_requirements_matcher_test.go",
			"../probetest/testdata/HaveLostRequests.txt", "testdata/failures.txt", "specs.go"},
	}
	blocks := strings.Split("\n"+read(t, "../docs/ginkgo.md"), "\n```")
	for i := 1; i+1 < len(blocks); i += 2 {
		lang, block, _ := strings.Cut(blocks[i], "\n")
		if name, _, _ := strings.Cut(block, "\n"); shown[lang] == nil ||
			strings.HasPrefix(name, "// ") && strings.HasSuffix(name, "_test.go") {
			continue
		}
		found := false
		for _, file := range shown[lang] {
			text := strings.ReplaceAll(strings.ReplaceAll(read(t, file), "\n\t// ", "\n"), "\n\t//\n", "\n\n")
			text = strings.ReplaceAll(text, "\n\t//\n", "\n\n") // the second of two in a row
			found = found || strings.Contains(text, block)
		}
		if !found {
			t.Errorf("docs/ginkgo.md shows a block that none of %s contains:\n%s", strings.Join(shown[lang], ", "),
				block)
		}
	}
	if len(blocks) < 12 {
		t.Errorf("docs/ginkgo.md has %d blocks, fewer than expected", len(blocks)/2)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
