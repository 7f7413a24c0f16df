package incident

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/input"
)

// texts returns the texts of real incidents below testdata, and those in the folder that
// PROBESIM_TEXTS names.
func texts(t testing.TB) map[string][]byte {
	list := map[string][]byte{}
	for _, pattern := range []string{"testdata/pastes/*", "testdata/recordings/*/*",
		filepath.Join(os.Getenv("PROBESIM_TEXTS"), "*")} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".md") || pattern == "*" {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			list[filepath.Base(name)] = data
		}
	}
	if len(list) < 40 {
		t.Fatalf("there are only %d texts", len(list))
	}
	return list
}

// collapsed returns a text without the headers of its tables, in which all runs of spaces are one,
// and none begins a line.
func collapsed(data []byte) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(clean(data))) {
		words := split(line, nil)
		if headed(words) {
			b.WriteString("\n")
			continue
		}
		b.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return b.Bytes()
}

// signature returns the facts of a recording without their places, lines and times.
func signature(r *Recording) []string {
	var list []string
	for _, f := range r.Facts {
		pod := ""
		if f.Pod != nil {
			pod = f.Pod.Key()
		}
		list = append(list, fmt.Sprintf("%s %s %s/%s x%d shown=%v least=%v %s %s %q %s %s %s exit=%d %v previous=%v "+
			"age=%v %v",
			f.Source, f.Kind, pod, f.Container, f.Count, f.CountShown, f.AtLeast, f.Type, f.Reason,
			strings.Join(strings.Fields(f.Message), " "), f.Value, f.Probe, f.Result,
			f.ExitCode, f.ExitKnown, f.Previous, f.Age, f.AgeWithin))
	}
	for _, p := range r.Pods {
		if p.Object == nil {
			continue
		}
		for _, c := range p.Object.Spec.Containers {
			list = append(list, strings.Join(strings.Fields(fmt.Sprintf("%s/%s %+v %+v %+v", p.Key(), c.Name,
				c.LivenessProbe, c.ReadinessProbe, c.StartupProbe)), " "))
		}
	}
	slices.Sort(list)
	return list
}

// TestCollapsedTexts reads each text again without its headers and with all runs of spaces as one,
// and in quotes: the facts are the same. YAML needs its indentation.
func TestCollapsedTexts(t *testing.T) {
	for name, data := range texts(t) {
		t.Run(name, func(t *testing.T) {
			want := signature(Read([]input.File{{Name: "f", Data: data}}))
			quoted := "> " + strings.ReplaceAll(strings.TrimSuffix(string(data), "\n"), "\n", "\n> ")
			compare(t, "quoted", want, signature(Read([]input.File{{Name: "f", Data: []byte(quoted)}})))
			if strings.HasSuffix(name, ".yaml") || bytes.Contains(data, []byte("containerStatuses:\n")) ||
				bytes.Contains(data, []byte("apiVersion: ")) {
				return
			}
			compare(t, "collapsed", want, signature(Read([]input.File{{Name: "f", Data: collapsed(data)}})))
		})
	}
}

func compare(t *testing.T, how string, want, got []string) {
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s: missing %s", how, w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s: more    %s", how, g)
		}
	}
}
