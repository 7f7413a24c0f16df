package incident

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"probesim.dev/internal/input"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
)

// FuzzRead reads files of any content. Reading and drawing end, no fact or problem has a place
// outside of the file, what a text does not show is unknown, the same text tells the same, and
// redaction leaves no line of the input.
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
	for _, data := range texts(f) {
		f.Add(data)
		f.Add(data[len(data)/3:])
		f.Add(collapsed(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := Read([]input.File{{Name: "fuzz", Data: data}})
		lines := strings.Count(string(decoded(data)), "\n") + 1
		inside := func(p Place) bool { return p.File == "fuzz" && p.Line >= 0 && p.Line <= lines }
		for _, p := range r.Problems {
			if !inside(p.Place) || p.Message == "" {
				t.Errorf("the place of a problem is not in the file: %+v", p)
			}
		}
		for _, u := range r.Unread {
			if !inside(u.Place) || u.Text == "" || len(u.Text) > 200 {
				t.Errorf("an unread line is not in the file: %+v", u)
			}
		}
		if len(r.Facts) > maxFacts || len(r.Pods) > maxPods || len(r.Unread) > maxUnread ||
			r.UnreadLines < len(r.Unread) || r.UnreadLines > lines {
			t.Errorf("%d facts, %d pods, %d of %d unread lines", len(r.Facts), len(r.Pods), len(r.Unread),
				r.UnreadLines)
		}
		for _, f := range r.Facts {
			if !inside(f.Place) || len(f.Text) > 200 || f.Count < -1 || f.Kind == Event && f.Count < 1 ||
				f.Kind == Terminated && !f.ExitKnown && f.ExitCode != 0 {
				t.Errorf("the fact %+v cannot be", f)
			}
			for i, p := range f.Points {
				if i > 0 && p.Count <= f.Points[i-1].Count || p.Count > f.Count {
					t.Errorf("the counts of %+v do not grow: %+v", f, f.Points)
				}
			}
		}
		if again := Read([]input.File{{Name: "fuzz", Data: data}}); summary(again) != summary(r) {
			t.Errorf("a second reading differs:\n%s\n%s", summary(r), summary(again))
		}
		if err := report.Timeline(io.Discard, r.RunOf(r.Pods), document.Options{}); err != nil {
			t.Error(err)
		}
		r.Redact()
		for _, f := range r.Facts {
			if f.Text != "" {
				t.Errorf("redaction leaves %q", f.Text)
			}
		}
		if err := r.WriteJSON(io.Discard, nil); err != nil {
			t.Error(err)
		}
	})
}
