package incident

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/internal/input"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
)

// TestRead reads the texts in testdata/read and prints their facts and problems. Run it with
// -rewrite to change the outputs.
func TestRead(t *testing.T) {
	datadriven.Walk(t, "testdata/read", func(t *testing.T, path string) {
		var files []input.File
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			text := strings.ReplaceAll(d.Input, "\\n\n", "\n\n") // a blank line would end the input
			switch d.Cmd {
			case "file": // a file of a recording, which the next command reads
				var name string
				d.ScanArgs(t, "name", &name)
				files = append(files, input.File{Name: name, Data: []byte(text + "\n")})
				return ""
			case "load": // a file below testdata
				var name string
				d.ScanArgs(t, "name", &name)
				data, err := os.ReadFile(filepath.Join("testdata", name))
				if err != nil {
					t.Fatal(err)
				}
				return summary(Read([]input.File{{Name: filepath.Base(name), Data: data}}))
			case "read", "timeline":
				files = append(files, input.File{Name: "stdin", Data: []byte(text + "\n")})
				if text == "" {
					files = files[:len(files)-1]
				}
				r := Read(files)
				files = nil
				if d.HasArg("redact") {
					r.Redact()
				}
				if d.Cmd == "timeline" {
					var b strings.Builder
					run := r.RunOf(r.Pods)
					if err := cmp.Or(report.Timeline(&b, run, document.Options{}),
						document.WriteText(&b, document.Options{}, run.AddEvents)); err != nil {
						t.Fatal(err)
					}
					return r.Title() + "\n" + b.String()
				}
				return summary(r)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// summary prints a recording: its pods, facts and problems.
func summary(r *Recording) string {
	var b strings.Builder
	if !r.Start.IsZero() {
		fmt.Fprintf(&b, "from %s to %s\n", formatTime(r.Start), formatTime(r.End))
	}
	for _, p := range r.Pods {
		fmt.Fprintf(&b, "pod %s uid=%s node=%s containers=%v", p.Key(), p.UID, p.Node, p.Containers())
		if p.Object != nil {
			for _, c := range p.Object.Spec.Containers {
				for _, probe := range []struct {
					name string
					has  any
				}{{"liveness", c.LivenessProbe}, {"readiness", c.ReadinessProbe}, {"startup", c.StartupProbe}} {
					if text := fmt.Sprintf("%v", probe.has); text != "nil" {
						fmt.Fprintf(&b, " %s.%s", c.Name, probe.name)
					}
				}
			}
		}
		b.WriteString("\n")
	}
	for _, f := range r.Facts {
		fmt.Fprintf(&b, "%s %s %s", f.Place, f.Source, f.Kind)
		if f.Pod == nil {
			b.WriteString(" node")
		} else if len(r.Pods) > 1 {
			b.WriteString(" " + f.Pod.Name)
		}
		if f.Container != "" {
			b.WriteString("/" + f.Container)
		}
		b.WriteString(" " + moment(r, f.When))
		if f.Last.Known() && f.Last != f.When {
			b.WriteString(".." + moment(r, f.Last))
		}
		if f.Count > 0 {
			fmt.Fprintf(&b, " x%d", f.Count)
		}
		if f.Kind == Event && f.CountShown && f.Source != FromEvent {
			b.WriteString("!")
		}
		if f.AtLeast {
			b.WriteString("+")
		}
		if f.Count < 0 {
			b.WriteString(" x?")
		}
		if f.AgeWithin > 0 {
			fmt.Fprintf(&b, " age=%s+%s", f.Age, f.AgeWithin)
		}
		if f.Aged {
			b.WriteString(" aged")
		}
		for _, word := range []string{f.Reason, f.Value, string(f.Probe), string(f.Result)} {
			if word != "" {
				b.WriteString(" " + word)
			}
		}
		if f.Kind == Terminated {
			if f.ExitKnown {
				fmt.Fprintf(&b, " exit=%d", f.ExitCode)
			}
			fmt.Fprintf(&b, " instance=%d previous=%v", f.Instance, f.Previous)
		}
		if f.Message != "" {
			fmt.Fprintf(&b, " %q", f.Message)
		}
		b.WriteString("\n")
	}
	for _, u := range r.Unread {
		fmt.Fprintf(&b, "-%s %s\n", u.Place, u.Text)
	}
	for _, p := range r.Problems {
		lost := ""
		if p.Lost {
			lost = " (lost)"
		}
		fmt.Fprintf(&b, "!%s %s\n", lost, p)
	}
	return b.String()
}

// moment prints a time since the beginning of the recording.
func moment(r *Recording, m Moment) string {
	if !m.Known() {
		return "?"
	}
	text := m.At.Sub(r.Zero()).String()
	if m.Within != 0 {
		text += "+" + m.Within.String()
	}
	return text
}

// TestNotText reads files that are no text in UTF-8.
func TestNotText(t *testing.T) {
	const event = `{"kind":"Event","metadata":{"name":"web.x"},"involvedObject":{"kind":"Pod","name":"web","fieldPath":"spec.containers{app}"},"reason":"Killing","message":"é","firstTimestamp":"2024-05-18T21:00:00Z"}`
	little, big := []byte{0xff, 0xfe}, []byte{0xfe, 0xff}
	for _, u := range utf16.Encode([]rune(event)) {
		little, big = binary.LittleEndian.AppendUint16(little, u), binary.BigEndian.AppendUint16(big, u)
	}
	for _, data := range [][]byte{little, big} {
		if r := Read([]input.File{{Name: "utf16", Data: data}}); len(r.Facts) != 1 || r.Facts[0].Message != "é" ||
			len(r.Problems) > 0 {
			t.Errorf("facts %v, problems %v", r.Facts, r.Problems)
		}
	}
	for data, want := range map[string]string{
		"\x1f\x8b\x08": "gzip", "PK\x03\x04": "extract it", "\x28\xb5\x2f\xfd": "extract it",
		"\x7fELF\x02\x00": "not text", "": "empty",
	} {
		r := Read([]input.File{{Name: "data", Data: []byte(data)}})
		if len(r.Problems) != 1 || !r.Problems[0].Lost || !strings.Contains(r.Problems[0].String(), want) {
			t.Errorf("%q: problems %v, want %s", data, r.Problems, want)
		}
	}
}

// A manifest of a pod that another file names tells no facts, but its probes.
func TestManifestBesideEvents(t *testing.T) {
	rec := Read([]input.File{
		{Name: "describe.txt", Data: []byte("Name:         web\nNamespace:    default\nEvents:\n  Type    Reason   " +
			"Age  From     Message\n  ----    ------   ---  ----     -------\n  Normal  Started  9s   kubelet  " +
			"Started container app\n")},
		{Name: "pod.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: default}\nspec: " +
			"{containers: [{name: app, image: web}]}\n")},
	})
	if len(rec.Pods) != 1 || rec.Pods[0].Object == nil || rec.Pods[0].Object.Spec.Containers[0].Image != "web" {
		t.Errorf("the pods are %+v", rec.Pods)
	}
	for _, p := range rec.Problems {
		if p.Place.File == "pod.yaml" {
			t.Errorf("%v", p)
		}
	}
}
