package expect

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestCheck tests each rule for expectations of docs/format.md on a small trace: a case that holds
// and a case that fails. After an intended change, run
//
//	go test ./scenarios/expect -rewrite
//
// and review the diff.
//
// The trace command reads a trace in the short form of parseTrace. The check command reads one
// expectation per line and prints the outcome of each. Its arguments are around (print the records
// around a failure), version, end (of a run that was cut short), and internal (the trace has the
// internal records). The runs command checks one expectation in each trace since the last clear
// command.
func TestCheck(t *testing.T) {
	manifests, err := os.ReadFile("testdata/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		h := &harness{t: t, manifests: string(manifests), spec: "pods: [{name: web}]"}
		datadriven.RunTest(t, path, h.handle)
	})
}

type harness struct {
	t         *testing.T
	manifests string
	spec      string
	traces    [][]trace.Record
}

func (h *harness) handle(t *testing.T, d *datadriven.TestData) string {
	h.t = t
	switch d.Cmd {
	case "scenario":
		h.spec = d.Input
	case "clear":
		h.traces = nil
	case "trace":
		h.traces = append(h.traces, parseTrace(t, d.Input))
	case "check":
		return h.check(d)
	case "runs":
		return h.runs(d)
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return ""
}

func (h *harness) check(d *datadriven.TestData) string {
	results := h.results(d, h.traces[len(h.traces)-1])
	var b strings.Builder
	for _, r := range results {
		write(&b, r, d.HasArg("around"))
	}
	return b.String()
}

func (h *harness) runs(d *datadriven.TestData) string {
	var b strings.Builder
	var all [][]Result
	for _, records := range h.traces {
		results := h.results(d, records)
		all = append(all, results)
		fmt.Fprintln(&b, outcomes[results[0].Outcome])
	}
	b.WriteString("together:\n")
	for _, r := range Some(all) {
		write(&b, r, false)
	}
	return b.String()
}

func (h *harness) results(d *datadriven.TestData, records []trace.Record) []Result {
	version, end := "v1.37", ""
	d.MaybeScanArgs(h.t, "version", &version)
	d.MaybeScanArgs(h.t, "end", &end)
	run := Run{Records: records, Internal: d.HasArg("internal")}
	if end != "" {
		d, err := time.ParseDuration(end)
		if err != nil {
			h.t.Fatal(err)
		}
		run.End = virtual.At(d)
	}
	results, err := Check(h.scenario(d.Input).Plan(version, nil), run)
	if err != nil {
		h.t.Fatal(err)
	}
	return results
}

func (h *harness) scenario(expectations string) *scenarios.Scenario {
	var b strings.Builder
	fmt.Fprintf(&b, "%s---\napiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n",
		h.manifests)
	for line := range strings.Lines(h.spec + "\n") {
		fmt.Fprintf(&b, "  %s", line)
	}
	b.WriteString("  expect:\n")
	for line := range strings.Lines(expectations) {
		fmt.Fprintf(&b, "  - %s", line)
	}
	all, err := scenarios.LoadBytes("rules.yaml", []byte(b.String()), nil)
	if err != nil {
		h.t.Fatalf("%v\n%s", err, b.String())
	}
	return all[0]
}

var outcomes = map[report.Outcome]string{report.OK: "ok", report.Failed: "FAILED", report.Skipped: "skipped",
	report.Unmet: "unmet"}

func write(w io.Writer, r Result, around bool) {
	fmt.Fprint(w, outcomes[r.Outcome])
	if r.Why != "" {
		fmt.Fprint(w, ": ", r.Why)
	}
	if r.Empty != "" {
		fmt.Fprint(w, ", but ", r.Empty)
	}
	fmt.Fprintln(w)
	for _, f := range r.Failures {
		fmt.Fprintf(w, "  expected %s\n  got      %s\n", f.Expected, f.Got)
		if !around {
			continue
		}
		for _, l := range f.Around {
			mark := map[bool]string{true: ">", false: " "}[l.Mark]
			fmt.Fprintf(w, "   %s %s %s %s\n", mark, trace.FormatTime(l.Record.T), l.Record.Subject(),
				l.Record.Summary())
		}
	}
	if r.More > 0 {
		fmt.Fprintf(w, "  and %d more\n", r.More)
	}
}

// TestFailuresAreCopies checks that a failure keeps no reference to the trace.
func TestFailuresAreCopies(t *testing.T) {
	h := &harness{t: t, manifests: manifest, spec: "pods: [{name: web}]"}
	records := parseTrace(t, "0s web PodAdded\n1s web/app#0 ContainerStarted")
	results, err := Check(h.scenario("{never: .., record: {kind: ContainerStarted}}").Plan("v1.37", nil),
		Run{Records: records})
	if err != nil || len(results[0].Failures) != 1 || len(results[0].Failures[0].Around) != 2 {
		t.Fatalf("%v, %v", results, err)
	}
	for i, line := range results[0].Failures[0].Around {
		if line.Record == &records[i] || line.Record.Kind != records[i].Kind {
			t.Errorf("record %d is not a copy", i)
		}
	}
}
