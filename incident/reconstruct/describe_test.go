package reconstruct

import (
	"os"
	"strings"
	"testing"

	"probesim.dev/incident"
)

// TestDescribe reconstructs the text of kubectl describe pod, and the same text from a terminal with 80 columns.
func TestDescribe(t *testing.T) {
	data, err := os.ReadFile("testdata/describe.txt")
	if err != nil {
		t.Fatal(err)
	}
	var wrapped strings.Builder
	for _, line := range strings.Split(string(data), "\n") {
		for ; len(line) > 80; line = line[80:] {
			wrapped.WriteString(line[:80] + "\n")
		}
		wrapped.WriteString(line + "\n")
	}
	for name, text := range map[string]string{"whole": string(data), "wrapped": wrapped.String()} {
		t.Run(name, func(t *testing.T) {
			rec := incident.Read([]incident.File{{Name: "describe.txt", Data: []byte(text)}})
			if len(rec.Facts) != 14 {
				t.Errorf("there are %d facts: %v", len(rec.Facts), rec.Problems)
			}
			for _, p := range rec.Problems {
				if p.Lost {
					t.Error(p)
				}
			}
			reconstructed(t, rec)
		})
	}
}
