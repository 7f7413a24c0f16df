package report

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/internal/long"
	"probesim.dev/internal/show/document"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestText compares output with testdata. After an intended change, run
//
//	go test ./report -rewrite
//
// and review the diff.
func TestText(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run, o := scan(t, d)
			var b bytes.Buffer
			if err := writers[d.Cmd](&b, run, o); err != nil {
				t.Fatal(err)
			}
			// Make escapes and trailing blanks visible in the file.
			return strings.ReplaceAll(strings.ReplaceAll(b.String(), "\x1b", "^"), " \n", "$\n")
		})
	})
}

var writers = map[string]func(io.Writer, *Run, document.Options) error{
	"timeline": Timeline,
	"events": func(w io.Writer, r *Run, o document.Options) error {
		return document.WriteText(w, o, r.AddEvents)
	},
	"heading": func(w io.Writer, r *Run, o document.Options) error {
		return document.WriteText(w, o, r.AddHeading)
	},
	"checks": func(w io.Writer, r *Run, o document.Options) error {
		return document.WriteText(w, o, func(b *document.Body) { AddChecks(b, r.Expectations) })
	},
	"failures": func(w io.Writer, r *Run, o document.Options) error {
		return document.WriteText(w, o, func(b *document.Body) { AddFailures(b, r.Expectations) })
	},
	"lines": func(w io.Writer, r *Run, o document.Options) error {
		for _, run := range cases()[0].Runs {
			RunLine(w, run, 12, o)
		}
		return Summary(w, cases(), o)
	},
	"junit": func(w io.Writer, r *Run, o document.Options) error { return Findings(cases()).Write(w, "junit", nil) },
	"json":  func(w io.Writer, r *Run, o document.Options) error { return JSON(w, cases()) },
}

func scan(t *testing.T, d *datadriven.TestData) (*Run, document.Options) {
	var o document.Options
	var name, until, from, to string
	d.MaybeScanArgs(t, "run", &name)
	d.MaybeScanArgs(t, "until", &until)
	d.MaybeScanArgs(t, "width", &o.Width)
	d.MaybeScanArgs(t, "from", &from)
	d.MaybeScanArgs(t, "to", &to)
	o.ASCII, o.Color = d.HasArg("ascii"), d.HasArg("color")
	run := &Run{Scenario: "web", Kubernetes: "v1.37", Until: virtual.At(duration(t, until)),
		From: virtual.At(duration(t, from)), To: virtual.At(duration(t, to)), Expectations: expectations()}
	switch name {
	case "restart":
		run.Records = restart(run.Until.Offset().Seconds())
	case "crash-loop":
		run.Records = crashLoop(run.Until.Offset().Seconds())
	case "sidecar":
		run.Records = sidecar()
	case "unborn":
		run.Records = unborn()
	case "stepped":
		run.Records = stepped()
	case "replicas":
		run.Records = replicas(12)
	case "three":
		run.Records = replicas(3)
	}
	run.Restarts = CountRestarts(run.Records)
	return run, o
}

func duration(t *testing.T, s string) time.Duration {
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func expectations() []Expectation {
	around := []Line{
		{&trace.Record{T: virtual.At(30 * time.Second), Kind: trace.ProbeExecuted, Pod: web, Container: "app",
			Probe: trace.Liveness, Result: trace.Failure,
			Message: "Get \"http://10.1.2.3:8080/healthz\": context deadline exceeded (Client.Timeout exceeded while " +
				"awaiting headers)", Took: time.Second}, false},
		{&trace.Record{T: virtual.At(36020 * time.Millisecond), Kind: trace.ContainerStopping, Pod: web,
			Container: "app", GraceSeconds: 30, Reason: "LivenessProbe"}, true},
	}
	return []Expectation{
		{Name: "{always: 40s.., status: {ready: true}}", File: "web.yaml", Line: 20, Column: 5, Outcome: OK},
		{Name: "the first kill comes in time", File: "web.yaml", Line: 21, Column: 5, Outcome: Failed, More: 2,
			Failures: []Failure{
				{"web/app: the first ContainerStopping in 25s..35s", "the first at 36.020s", around}}},
		{Name: "{kubernetesVersions: [..v1.34], never: .., status: {ready: true}}", File: "web.yaml", Line: 22,
			Column: 5, Outcome: Skipped, Why: "only for ..v1.34"},
	}
}

func cases() []Case {
	seeds := []int64{1, 2, 3}
	run := func(seed *int64, expectations []Expectation, err error) *Run {
		return &Run{Scenario: "web", Kubernetes: "v1.37", Seed: seed, Until: virtual.At(90 * time.Second), Hash: "abc",
			Steps: 70, Restarts: 1,
			Replay: "probesim run web.yaml --seed 2", Expectations: expectations, Err: err,
			Output: "a timeline <\x1b>\n"}
	}
	return []Case{
		{Scenario: "web", File: "web.yaml", Line: 9, Kubernetes: "v1.37", Runs: []*Run{
			run(&seeds[0], expectations()[:1], nil), run(&seeds[1], expectations(), nil),
			run(&seeds[2], nil, errors.New("more than 1000000 events\nmost of them of web"))}},
		{Scenario: "db", Description: "A & B", File: "web.yaml", Line: 30, Kubernetes: "v1.37",
			Runs: []*Run{run(nil, expectations()[1:2], nil)}},
		{Scenario: "some", File: "z.yaml", Line: 2, Kubernetes: "v1.37",
			Runs:         []*Run{run(&seeds[0], nil, nil), run(&seeds[1], nil, nil)},
			Expectations: expectations()[1:2]},
	}
}

// TestTextFits checks that no line about a run is wider than the terminal.
func TestTextFits(t *testing.T) {
	for width := 40; width < 130; width += 3 {
		run := &Run{Scenario: "a-stall-of-the-database", Kubernetes: "v1.37", Seed: new(int64(100)),
			Until:       virtual.At(90 * time.Minute),
			Description: "A & B", Records: sidecar(), Expectations: expectations()}
		for i, records := range [][]trace.Record{run.Records, restart(120), replicas(3)} {
			var b strings.Builder
			run.Records = records
			o := document.Options{Width: width}
			for _, name := range []string{"heading", "events", "checks"} {
				writers[name](&b, run, o)
			}
			o.Margin = 2
			writers["failures"](&b, run, o)
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(line) - 1; n > width {
					t.Errorf("run %d: %d columns in %d:\n%s", i, n, width, line)
				}
			}
		}
	}
}

// TestTimelineFits checks that no line of a timeline is wider than the terminal, for any width and
// any part of a run.
func TestTimelineFits(t *testing.T) {
	run := &Run{Records: restart(86400), Until: virtual.At(24 * time.Hour)}
	for width := 40; width < 250; width += long.Sample(29, 7) {
		for _, to := range []time.Duration{time.Second, 7 * time.Second, time.Minute, 31 * time.Minute,
			24 * time.Hour} {
			var b strings.Builder
			for _, from := range []time.Duration{0, to / 3, to - time.Nanosecond} {
				run.From, run.To = virtual.At(from), virtual.At(to)
				if err := Timeline(&b, run, document.Options{Width: width}); err != nil {
					t.Fatal(err)
				}
			}
			for line := range strings.Lines(b.String()) {
				if n := len([]rune(line)) - 1; n > width {
					t.Errorf("%d columns in %d:\n%s", n, width, line)
				}
			}
		}
	}
}

// TestNoEscapesGetThrough checks that control characters of a program do not reach the terminal.
func TestNoEscapesGetThrough(t *testing.T) {
	evil := "\x1b]0;owned\x07\r\n\x9b"
	r := &Run{Scenario: evil, Description: evil, Until: virtual.At(time.Minute), Records: []trace.Record{
		{Kind: trace.PodAdded, Pod: evil},
		{Kind: trace.Event, Pod: evil, Container: evil, Type: evil, Reason: evil, Message: evil},
		{Kind: trace.ProbeExecuted, Pod: evil, Container: evil, Probe: trace.Liveness, Message: evil},
		{Kind: trace.StatusPatched, Pod: evil,
			Status: &trace.PodStatus{Reason: evil,
				Containers: []trace.ContainerStatus{{Name: evil, State: "waiting", Reason: evil}}}},
	}}
	for i := range r.Records {
		r.Expectations = append(r.Expectations, Expectation{Name: evil, Outcome: Failed,
			Failures: []Failure{{evil, evil, []Line{{&r.Records[i], true}}}}})
	}
	var b strings.Builder
	for _, name := range []string{"heading", "timeline", "events", "checks"} {
		writers[name](&b, r, document.Options{})
	}
	if i := strings.IndexAny(b.String(), "\x1b\x07\r\u009b"); i >= 0 || !utf8.ValidString(b.String()) {
		t.Errorf("at byte %d of %q", i, b.String())
	}
}

func BenchmarkTimeline24h(b *testing.B) {
	run := &Run{Records: restart(86400), Until: virtual.At(24 * time.Hour)}
	b.ReportMetric(float64(len(run.Records)), "records")
	for b.Loop() {
		Timeline(io.Discard, run, document.Options{})
	}
}
