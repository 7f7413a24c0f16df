package verdict_test

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/input"
)

// FuzzOf feeds any bytes. Each recording has a first verdict, which says something, and gives the
// same one again.
func FuzzOf(f *testing.F) {
	files, err := filepath.Glob("../testdata/pastes/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		of := func() *verdict.Report { return verdict.Of(incident.Read([]input.File{{Name: "f", Data: data}})) }
		r, again := of(), of()
		if len(r.Verdicts) == 0 {
			t.Fatal("no verdict")
		}
		for i, v := range r.Verdicts {
			if v.Sentence == "" || v.Cause == "" || v.Sure == "" {
				t.Errorf("an empty verdict: %+v", v)
			}
			if utf8.Valid(data) && !utf8.ValidString(v.Sentence) {
				t.Errorf("not UTF-8: %q", v.Sentence)
			}
			if v.Sure != verdict.Open && len(v.Or) > 0 {
				t.Errorf("%s, and further causes: %v", v.Sure, v.Or)
			}
			if o := again.Verdicts[i]; o.Sentence != v.Sentence {
				t.Errorf("first %q, then %q", v.Sentence, o.Sentence)
			}
		}
	})
}
