package library

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestGolden compares the runs without a seed with testdata: a summary of each run, and the
// timelines of the scenarios that new users run first. After an intended change of behavior, run
//
//	go test ./scenarios/library -rewrite
//
// review the diff of testdata, and give the reason for each difference in the commit message.
func TestGolden(t *testing.T) {
	defer func() {
		if t.Failed() {
			t.Log("if the change is intended: go test ./scenarios/library -rewrite, and give the reason in the " +
				"commit message")
		}
	}()
	all := load(t)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "summaries":
				var b strings.Builder
				for _, s := range all {
					b.WriteString(summaries(t, s))
				}
				return b.String()
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

// summaries returns a summary of the run of each version without a seed. Adjacent versions with
// equal runs share one.
func summaries(t *testing.T, s *scenarios.Scenario) string {
	var b strings.Builder
	all := versions(s)
	for i := 0; i < len(all); {
		r := simulate(t, s.Plan(all[i], nil), options{})
		end := i + 1
		for end < len(all) && simulate(t, s.Plan(all[end], nil), options{}).hash() == r.hash() {
			end++
		}
		fmt.Fprintf(&b, "%s  %s\n%s", s.Metadata.Name, strings.Join(all[i:end], " "), summary(r.records))
		i = end
	}
	return b.String()
}

// summary describes a run in up to three lines: when its pods first became Ready, restarts and
// exits, then probe results, then the stops by the kubelet. The hash covers everything else.
func summary(records []trace.Record) string {
	var ready []string // first time of each pod
	var exits, probes, stops groups
	restarts, known := 0, map[string]bool{}
	for i := range records {
		r := &records[i]
		switch r.Kind {
		case trace.StatusPatched:
			if r.Status.Ready && !known[r.Pod] {
				known[r.Pod] = true
				ready = append(ready, trace.FormatTime(r.T))
			}
		case trace.ContainerStarted:
			if r.Instance > 0 {
				restarts++
			}
		case trace.ContainerExited:
			exits.add(fmt.Sprintf("code %d", r.ExitCode), trace.FormatTime(r.T))
		case trace.ProbeExecuted:
			probes.add(r.Container+" "+string(r.Probe), string(r.Result))
		case trace.ContainerStopping:
			stops.add(r.Container+" for "+r.Reason, trace.FormatTime(r.T))
		}
	}
	text := fmt.Sprintf("  Ready %s, %d restarts, exits %s, hash %.12s\n", list(ready), restarts, exits.text(times),
		trace.Hash(records))
	if len(probes.keys) > 0 {
		text += "  probes " + probes.text(tally) + "\n"
	}
	if len(stops.keys) > 0 {
		text += "  stops " + stops.text(list) + "\n"
	}
	return text
}

// groups collects values by key, in the order in which the keys first occur.
type groups struct {
	keys   []string
	values map[string][]string
}

func (g *groups) add(key, value string) {
	if g.values == nil {
		g.values = map[string][]string{}
	}
	if g.values[key] == nil {
		g.keys = append(g.keys, key)
	}
	g.values[key] = append(g.values[key], value)
}

// text describes the values of the first six keys.
func (g *groups) text(describe func(values []string) string) string {
	const limit = 6
	var parts []string
	for _, key := range g.keys[:min(limit, len(g.keys))] {
		parts = append(parts, key+" "+describe(g.values[key]))
	}
	if more := len(g.keys) - limit; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func times(values []string) string { return fmt.Sprintf("x%d", len(values)) }

// tally counts the results of a probe: "3 success 1 failure".
func tally(results []string) string {
	var parts []string
	for _, result := range []trace.Result{trace.Success, trace.Failure, trace.Warning, trace.Error} {
		n := 0
		for _, r := range results {
			if r == string(result) {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, result))
		}
	}
	return strings.Join(parts, " ")
}

// list returns the first three times, and how many more there are.
func list(times []string) string {
	switch n := len(times); {
	case n == 0:
		return "never"
	case n > 4:
		return fmt.Sprintf("%s and %d more", strings.Join(times[:3], " "), n-3)
	}
	return strings.Join(times, " ")
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
		run := &report.Run{Scenario: scenario, Kubernetes: plan.Version, Until: virtual.At(plan.Duration),
			Records: r.records}
		if err := report.Timeline(&b, run, document.Options{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	t.Fatalf("there is no scenario %s", scenario)
	return ""
}
