package html

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// write returns a page with the runs.
func write(t *testing.T, runs ...*report.Run) string {
	t.Helper()
	c := report.Case{Scenario: runs[0].Scenario, File: runs[0].Scenario, Kubernetes: "v1.37", Runs: runs}
	var page Page
	for _, r := range runs {
		var b bytes.Buffer
		if err := Section(&b, r); err != nil {
			t.Fatal(err)
		}
		r.Output = b.String()
		page.Add(r)
	}
	var b strings.Builder
	if err := page.Write(&b, []report.Case{c}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var tags, quoted = regexp.MustCompile(`<[a-zA-Z][^<>]*>`), regexp.MustCompile(`"[^"]*"`)

var scriptOf = regexp.MustCompile(`(?s)<script type="application/json" class="data">(.*?)</script>`)

// chartOf returns the chart data of a page.
func chartOf(t *testing.T, page string) chart {
	t.Helper()
	var c chart
	if err := json.Unmarshal([]byte(scriptOf.FindStringSubmatch(page)[1]), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestHostileNames checks that names and messages cannot become markup or scripts, wherever the
// page shows them.
func TestHostileNames(t *testing.T) {
	for _, evil := range []string{
		`</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`,
		`' onmouseover='alert(1)`,
		`]]>--><!--<script>alert(1)`, `{{.}}`, "\u2028\u2029\x00\x1b[31m\xff", `javascript:alert(1)`, "`${alert(1)}`",
		`&lt;script&gt;alert(1)`,
	} {
		run := hostile(evil)
		page := write(t, run, hostile(evil))
		plain := write(t, hostile("name"), hostile("name"))
		for _, tag := range []string{"<script", "</script", "<img", "<svg", "<!--"} {
			if got, want := strings.Count(page, tag), strings.Count(plain, tag); got != want {
				t.Errorf("%q: %d of %s in the page, %d without it", evil, got, tag, want)
			}
		}
		for _, tag := range tags.FindAllString(page, -1) {
			if bare := quoted.ReplaceAllString(tag, ""); strings.Contains(bare, " on") || strings.Contains(bare, "'") {
				t.Errorf("%q: %s", evil, tag)
			}
		}
		c := chartOf(t, page)
		if name := printable.Text(evil); !strings.Contains(c.Lanes[len(c.Lanes)-1].Of,
			strings.ToValidUTF8(name, "\ufffd")) {
			t.Errorf("%q: the last lane is of %q", evil, c.Lanes[len(c.Lanes)-1].Of)
		}
	}
}

func hostile(evil string) *report.Run {
	r := &report.Run{Scenario: evil, Description: evil, Kubernetes: evil, Replay: evil, Until: virtual.At(time.Minute),
		Err: errors.New(evil), Records: []trace.Record{
			{Kind: trace.PodAdded, Pod: evil},
			{Kind: trace.ContainerStarted, Pod: evil, Container: evil},
			{Kind: trace.Event, Pod: evil, Container: evil, Type: evil, Reason: evil, Message: evil},
			{Kind: trace.ProbeExecuted, Pod: evil, Container: evil, Probe: trace.Liveness, Result: trace.Failure,
				Message: evil},
			{Kind: trace.ContainerStopping, Pod: evil, Container: evil, Reason: evil},
			{Kind: trace.Step, Pod: evil, Reason: evil, Message: evil},
			{Kind: trace.Step, Reason: evil, Message: evil},
			{Kind: trace.StatusPatched, Pod: evil,
				Status: &trace.PodStatus{Phase: evil, Reason: evil,
					Containers: []trace.ContainerStatus{{Name: evil, State: "waiting", Reason: evil}}}},
		}}
	for i := range r.Records {
		r.Records[i].Step, r.Records[i].T = int64(i+1), virtual.At(time.Duration(i)*time.Second)
		r.Records[i].Cause = int64(i)
		r.Expectations = append(r.Expectations,
			report.Expectation{Name: evil, File: evil, Outcome: report.Failed, Why: evil,
				Failures: []report.Failure{{Expected: evil, Got: evil,
					Around: []report.Line{{Record: &r.Records[i], Mark: true}}}}})
	}
	return r
}

// TestNothingIsLoaded checks that the page is self-contained, and its policy forbids downloads.
func TestNothingIsLoaded(t *testing.T) {
	page := write(t, hostile("name"))
	for _, bad := range []string{`src="http`, `href="http`, "@import", "url(http", "fetch(", "XMLHttpRequest",
		"import("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if !strings.Contains(page, `content="default-src 'none';`) {
		t.Error("the page has no policy against downloads")
	}
}

// big returns a run of pods with one probe that runs each second. Every fails-th run fails.
func big(pods, seconds, fails int) *report.Run {
	var rec trace.Recorder
	for t := range seconds {
		for p := range pods {
			pod := fmt.Sprintf("default/p%d", p)
			at := time.Duration(t) * time.Second
			if t == 0 {
				rec.Add(trace.Record{Kind: trace.PodAdded, Pod: pod})
				rec.Add(trace.Record{Kind: trace.ContainerStarted, Pod: pod, Container: "c"})
			}
			result := trace.Success
			if fails > 0 && (t+1)%fails == 0 {
				result = trace.Failure
			}
			rec.Add(trace.Record{T: virtual.At(at), Kind: trace.ProbeExecuted, Pod: pod, Container: "c",
				Probe: trace.Liveness, Result: result})
		}
	}
	return &report.Run{Scenario: "big", Kubernetes: "v1.37", Until: virtual.At(time.Duration(seconds) * time.Second),
		Records: rec.Records()}
}

// TestBigRuns checks that pages of big runs omit records, and say so.
func TestBigRuns(t *testing.T) {
	for _, test := range []struct {
		name                 string
		pods, seconds, fails int
		notes                []string
	}{
		{"all", 3, 10_000, 2, nil},
		{"counted", 2, 50_000, 10_000, []string{"99,970 of them are only counted"}},
		{"cut", 8, 10_000, 2, []string{"The timeline ends at 2h"}},
	} {
		run := big(test.pods, test.seconds, test.fails)
		page := write(t, run)
		c := chartOf(t, page)
		shown := 0
		for _, l := range c.Lanes {
			shown += len(l.Steps) + len(l.Bars)
		}
		if shown > maxRecords+50*len(c.Lanes) || len(page) > 8<<20 {
			t.Errorf("%s: %d marks, %d bytes", test.name, shown, len(page))
		}
		if got := strings.Count(page, `<span class="badge warn">note</span>`); got != len(test.notes) {
			t.Errorf("%s: %d notes, want %d", test.name, got, len(test.notes))
		}
		for _, note := range test.notes {
			if !strings.Contains(page, note) {
				i := strings.Index(page, `<span class="badge warn">note</span>`)
				t.Errorf("%s: want %q; the page says %s", test.name, note, page[i:i+300])
			}
		}
	}
}

// TestSeriesCountAll checks that the marks and the series together count every probe run.
func TestSeriesCountAll(t *testing.T) {
	run := big(1, 70_000, 7_000)
	c := chartOf(t, write(t, run))
	for _, l := range c.Lanes {
		if l.Kind != "probe" {
			continue
		}
		n := len(l.Steps)
		for _, s := range l.Series {
			n += s.Count - 2
		}
		if n != 70_000 {
			t.Errorf("%d probe runs, want 70000", n)
		}
	}
}

// TestManyRuns checks that runs beyond the size limit are listed with a command to show them;
// failed runs have priority.
func TestManyRuns(t *testing.T) {
	c := report.Case{Scenario: "many", Kubernetes: "v1.37"}
	var page Page
	for seed := range int64(5) {
		r := &report.Run{Scenario: "many", Kubernetes: "v1.37", Seed: &seed,
			Replay: fmt.Sprintf("probesim run --seed %d", seed), Output: strings.Repeat("x", maxSize/2)}
		if seed == 4 {
			r.Expectations = []report.Expectation{{Name: "e", Outcome: report.Failed}}
		}
		page.Add(r)
		c.Runs = append(c.Runs, r)
	}
	var b strings.Builder
	if err := page.Write(&b, []report.Case{c}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"timelines of 3 of 5 runs, because of its size limit",
		"probesim run --seed 2 -o html", "probesim run --seed 3 -o html", `<section id="r5"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
