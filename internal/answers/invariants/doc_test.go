package invariants_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"probesim.dev/internal/answers/invariants"
)

// The page on exploring has a row for each invariant.
func TestDocument(t *testing.T) {
	const file = "../../../docs/explore.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range invariants.All() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", i.Name, i.Sentence, i.Across); !strings.Contains(string(text),
			row) {
			t.Errorf("%s lacks the row\n%s", file, row)
		}
	}
}
