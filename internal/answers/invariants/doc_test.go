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
		if row := fmt.Sprintf("| `%s` | %s |", i.Name, i.Sentence); !strings.Contains(string(text), row) {
			t.Errorf("%s lacks the row\n%s", file, row)
		}
	}
}
