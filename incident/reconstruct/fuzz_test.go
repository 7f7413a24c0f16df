package reconstruct

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"probesim.dev/incident"
)

// FuzzPod reconstructs pods of files of any content. The search ends, and each claim that the run does not meet has a reason.
func FuzzPod(f *testing.F) {
	files, err := filepath.Glob("../testdata/read/*")
	if err != nil || len(files) == 0 {
		f.Fatal(err, len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n\n") {
			_, input, _ := strings.Cut(part, "\n{")
			input, _, _ = strings.Cut("{"+input, "\n----")
			f.Add([]byte(input))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rec := incident.Read([]incident.File{{Name: "fuzz", Data: data}})
		for _, pod := range rec.Pods[:min(len(rec.Pods), 3)] {
			r, err := Pod(context.Background(), rec, pod, Options{Runs: 12})
			if err != nil {
				continue
			}
			for _, c := range r.Claims {
				if !c.Holds && c.Reason == "" {
					t.Errorf("%s has no reason", c.Says)
				}
			}
		}
	})
}
