package library

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/report"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// TestGolden compares the runs in which nothing is drawn with testdata: the hash of each, and what the
// terminal shows of the first ones that people run. If it fails after a change that was meant, run
//
//	go test ./scenarios/library -rewrite
//
// and look at the difference: other hashes mean that the simulator behaves differently, which needs a reason.
func TestGolden(t *testing.T) {
	defer func() {
		if t.Failed() {
			t.Log("if this change is meant: go test ./scenarios/library -rewrite, and say in the commit why the runs are different")
		}
	}()
	all := load(t)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "hashes":
				return hashes(t, all)
			case "timeline":
				var scenario string
				d.ScanArgs(t, "scenario", &scenario)
				return timeline(t, all, scenario)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// hashes has a line for each run in which nothing is drawn.
func hashes(t *testing.T, all []*scenarios.Scenario) string {
	var b bytes.Buffer
	for _, s := range all {
		version := ""
		for _, plan := range s.Plans() {
			if plan.Version == version { // another seed
				continue
			}
			version = plan.Version
			fmt.Fprintf(&b, "%s  %s  %s\n", simulate(t, s.Plan(version, nil), options{}).hash(), version, s.Metadata.Name)
		}
	}
	return b.String()
}

// timeline draws a scenario as on a terminal of 80 columns.
func timeline(t *testing.T, all []*scenarios.Scenario, scenario string) string {
	for _, s := range all {
		if s.Metadata.Name != scenario {
			continue
		}
		plan := s.Plans()[0]
		r := simulate(t, plan, options{})
		var b bytes.Buffer
		run := &report.Run{Scenario: scenario, Kubernetes: plan.Version, Until: virtual.At(plan.Duration), Records: r.records}
		if err := report.Timeline(&b, run, report.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	t.Fatalf("there is no scenario %s", scenario)
	return ""
}
