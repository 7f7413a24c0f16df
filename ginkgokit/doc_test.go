package ginkgokit

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentation: the code and the output that docs/ginkgo.md shows are in the tests, where they run.
func TestDocumentation(t *testing.T) {
	shown := map[string][]string{ // where a block of a language may be
		"go":   {"../probetest/example_test.go", "../examples/probes/suite_test.go"},
		"text": {"../probetest/example_test.go", "testdata/failures.txt", "specs.go"},
	}
	blocks := strings.Split("\n"+read(t, "../docs/ginkgo.md"), "\n```")
	for i := 1; i+1 < len(blocks); i += 2 {
		lang, block, _ := strings.Cut(blocks[i], "\n")
		if shown[lang] == nil {
			continue
		}
		found := false
		for _, file := range shown[lang] {
			text := strings.ReplaceAll(strings.ReplaceAll(read(t, file), "\n\t// ", "\n"), "\n\t//\n", "\n\n")
			text = strings.ReplaceAll(text, "\n\t//\n", "\n\n") // of two in a row
			found = found || strings.Contains(text, block)
		}
		if !found {
			t.Errorf("docs/ginkgo.md shows what is in none of %s:\n%s", strings.Join(shown[lang], ", "), block)
		}
	}
	if len(blocks) < 12 {
		t.Errorf("docs/ginkgo.md has only %d blocks", len(blocks)/2)
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
