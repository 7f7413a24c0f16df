package incident

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// TestPublishedIncidents runs examples/incidents: each has a source, shows what happened, and a
// setting that prevents it.
func TestPublishedIncidents(t *testing.T) {
	files, err := filepath.Glob("../../../examples/incidents/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(err, files)
	}
	page, err := os.ReadFile("../../../examples/incidents/README.md")
	if err != nil {
		t.Fatal(err)
	}
	source := regexp.MustCompile(`(?m)^# Source: (https://\S+)$`)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := source.FindSubmatch(text)
			if m == nil || !strings.Contains(string(page), string(m[1])) ||
				!strings.Contains(string(page), filepath.Base(file)) {
				t.Errorf("examples/incidents/README.md does not have the file with its source %s", m)
			}
			loaded, err := scenarios.Load(file)
			if err != nil || len(loaded) != 2 {
				t.Fatal(len(loaded), err)
			}
			for i, variant := range []string{"published", "prevented"} {
				if !strings.HasSuffix(loaded[i].Metadata.Name, "/"+variant) {
					t.Errorf("variant %d is %s", i, loaded[i].Metadata.Name)
				}
				run := simulate.Run(context.Background(), loaded[i].Plans()[0], simulate.Options{})
				if run.Err != nil {
					t.Fatal(run.Err)
				}
				for _, r := range run.Results {
					if r.Outcome != report.OK {
						t.Errorf("%s, line %d: %+v", variant, r.Expect.Line, r.Failures)
					}
				}
				kills := 0
				for _, r := range run.Records {
					if r.Kind == trace.ContainerStopping && strings.HasSuffix(r.Reason, "Probe") {
						kills++
					}
				}
				if (kills > 0) != (variant == "published") {
					t.Errorf("%s: probes stop %d containers", variant, kills)
				}
			}
		})
	}
}
