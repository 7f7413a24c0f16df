package incident

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/report"
)

// TestRead reads the texts in testdata/read and prints their facts and problems. Run it with -rewrite to change the outputs.
func TestRead(t *testing.T) {
	datadriven.Walk(t, "testdata/read", func(t *testing.T, path string) {
		var files []File
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			input := strings.ReplaceAll(d.Input, "\\n\n", "\n\n") // a blank line would end the input
			switch d.Cmd {
			case "file": // a file of a recording, which the next command reads
				var name string
				d.ScanArgs(t, "name", &name)
				files = append(files, File{name, []byte(input + "\n")})
				return ""
			case "read", "timeline":
				files = append(files, File{"stdin", []byte(input + "\n")})
				if input == "" {
					files = files[:len(files)-1]
				}
				r := Read(files)
				files = nil
				if d.HasArg("redact") {
					r.Redact()
				}
				if d.Cmd == "timeline" {
					var b strings.Builder
					run := r.Run()
					if err := cmp.Or(report.Timeline(&b, run, report.Options{}), report.Events(&b, run, report.Options{})); err != nil {
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
		if v := p.Version(); v.Says != "" {
			fmt.Fprintf(&b, " version=1.%d..1.%d", v.Since, v.Before)
		}
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
		for _, word := range []string{f.Reason, f.Value, string(f.Probe), string(f.Result)} {
			if word != "" {
				b.WriteString(" " + word)
			}
		}
		if f.Kind == Terminated {
			fmt.Fprintf(&b, " exit=%d previous=%v", f.ExitCode, f.Previous)
		}
		if f.Message != "" {
			fmt.Fprintf(&b, " %q", f.Message)
		}
		b.WriteString("\n")
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

// TestVersion checks the versions that the words of messages tell.
func TestVersion(t *testing.T) {
	for message, want := range map[string]Wording{
		"Created: Created container: app":                                         {Since: 30, Before: 35},
		"Created: Created container app":                                          {Since: 14, Before: 32},
		"Created: Created container":                                              {Before: 14},
		"Created: Container created":                                              {Since: 35},
		`Unhealthy: Liveness probe failed: Get http://10.0.0.1/: EOF`:             {Before: 19},
		`Unhealthy: Startup probe failed: Get "http://10.0.0.1/": EOF`:            {Since: 19},
		"BackOff: Back-off restarting failed container app in pod web_default(u)": {Since: 26},
	} {
		reason, text, _ := strings.Cut(message, ": ")
		p := &Pod{Facts: []*Fact{{Kind: Event, Reason: reason, Message: text}}}
		if got := p.Version(); got.Since != want.Since || got.Before != want.Before {
			t.Errorf("%s: from %d until before %d, want %d and %d", message, got.Since, got.Before, want.Since, want.Before)
		}
	}
}
