package incident

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"probesim.dev/report"
)

// FuzzRead reads files of any content. Reading and drawing end, each problem has the place of a file, and redaction leaves none of
// the names in the timeline.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/read/*")
	if err != nil || len(files) == 0 {
		f.Fatal(err, len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n\n") {
			_, input, _ := strings.Cut(part, "read\n")
			input, _, _ = strings.Cut(input, "\n----")
			f.Add([]byte(input))
			f.Add([]byte(input[:len(input)/2])) // cut off
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := Read([]File{{"fuzz", data}})
		for _, p := range r.Problems {
			if p.File != "fuzz" || p.Line < 0 || p.Line > strings.Count(string(data), "\n")+1 || p.Message == "" {
				t.Errorf("the place of a problem is not in the file: %+v", p)
			}
		}
		if len(r.Facts) > maxFacts || len(r.Pods) > maxPods {
			t.Errorf("%d facts, %d pods", len(r.Facts), len(r.Pods))
		}
		if err := report.Timeline(io.Discard, r.RunOf(r.Pods), report.Options{}); err != nil {
			t.Error(err)
		}
		r.Redact()
		if err := r.WriteJSON(io.Discard, nil); err != nil {
			t.Error(err)
		}
	})
}
