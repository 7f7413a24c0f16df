package html

import (
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/value"
)

func s(n float64) check.Seconds { return check.Seconds(n * float64(time.Second)) }

// sample is a report with every part that a page can have.
func sample(text string) *compare.Report {
	finding := []check.Finding{{Severity: "warning", File: text, Line: 3, Message: text}}
	return &compare.Report{Kubernetes: []string{text}, Delays: text, Before: text, After: text,
		Workloads: []compare.Workload{
			{
				Kind: text, Name: text, Change: compare.Same, Problems: []string{text},
				Requirements: []check.Verification{{Requirement: text}},
				Containers: []compare.Container{{
					Name: text, Change: compare.Same, Appeared: finding, Disappeared: finding,
					Before: []check.Probe{{Type: "liveness", Text: text}},
					After:  []check.Probe{{Type: "liveness", Text: text + " 2"}},
					Rows: []compare.Row{
						{Text: text, Limit: true, Before: &value.Interval{Min: 20 * time.Second, Max: 30 * time.Second},
							After:  &value.Interval{Min: 25 * time.Second, Max: 50 * time.Second},
							Change: compare.Better},
						{Text: text, Before: &value.Interval{Min: 1 * time.Second, Max: 4 * time.Second},
							After: &value.Interval{Min: 2 * time.Second, Max: bounds.Never}, Change: compare.Worse},
					},
				}, {Name: "other", Change: compare.Same},
					{Name: text, Change: compare.Same, RenamedFrom: text, Lost: []string{text},
						Before: []check.Probe{{Type: "startup", Text: text}}}},
			},
			{Kind: text, Name: text, Change: compare.Same, RenamedFrom: text,
				Paired:     &compare.Pairing{By: compare.ByImages, Images: []string{text}},
				Containers: []compare.Container{{Name: text, Change: compare.Removed}}},
			{Kind: text, Name: text, Change: compare.Removed},
		}, Scenarios: []compare.Scenario{{Name: text, Kubernetes: text, Runs: 2, Numbers: []compare.Pair{
			{Pods: text, Number: compare.Restarts, Better: 1}, {Pods: text, Number: compare.Unready},
			{Pods: text + "2", Number: compare.Restarts},
		}}}}
}

func write(t *testing.T, r *compare.Report) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHostileNames checks that names and messages cannot become markup or scripts.
func TestHostileNames(t *testing.T) {
	plain := write(t, sample("name"))
	for _, evil := range []string{`</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`,
		`"><svg onload=alert(1)>`, "\x1b[31m\u2028"} {
		page := write(t, sample(evil))
		for _, tag := range []string{"<script", "</script", "<img", "<svg"} {
			if got, want := strings.Count(page, tag), strings.Count(plain, tag); got != want {
				t.Errorf("%q: %d of %s, want %d", evil, got, tag, want)
			}
		}
		if strings.ContainsAny(page, "\x1b\u2028") {
			t.Errorf("%q: the page has control characters", evil)
		}
	}
}

// TestRemarks checks what the page says of a renamed container, and of one that lost a probe or is
// gone.
func TestRemarks(t *testing.T) {
	page := write(t, sample("name"))
	for _, want := range []string{
		"<h2>name name, container name (renamed from name)</h2>",
		`<span class="badge failed">Worse</span> the container loses its name probe.`,
		"<h2>name name (renamed from name), container name (removed)</h2>",
		`<span class="badge ok">Not worse</span> the pod no longer has this container.`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestNames checks that the page names both manifests, and what it compares in spite of another
// name.
func TestNames(t *testing.T) {
	r := sample("name")
	r.Before, r.After = "old.yaml", "new.yaml"
	page := write(t, r)
	for _, want := range []string{"before: old.yaml<", "after: new.yaml<",
		"<p class=\"pairing\">name name is compared with name name, because both have the image name.</p>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestTracks checks where the bars of a row are.
func TestTracks(t *testing.T) {
	tables := newContainer(&sample("name").Workloads[0].Containers[0]).Tables
	if len(tables) != 2 {
		t.Fatalf("%d tables", len(tables))
	}
	for _, test := range []struct {
		got, want track
	}{
		{tables[0].Rows[0].Tracks[0], track{Kind: "before", Y: 2, Sure: 40, From: 40, Rest: 20}},
		{tables[0].Rows[0].Tracks[1], track{Kind: "after", Y: 11, Sure: 50, From: 50, Rest: 50}},
		{tables[1].Rows[0].Tracks[0], track{Kind: "before", Y: 2, From: 25, Rest: 75, Times: true}},
		{tables[1].Rows[0].Tracks[1], track{Kind: "after", Y: 11, From: 50, Rest: 50, Times: true}},
	} {
		if test.got != test.want {
			t.Errorf("a bar is %+v, want %+v", test.got, test.want)
		}
	}
}

// TestTitle checks what the page says first.
func TestTitle(t *testing.T) {
	for _, test := range []struct {
		r    *compare.Report
		want string
	}{
		{sample("name"), "Probe settings: 1 probe lost, 1 better, 1 worse"},
		{&compare.Report{}, "Probe settings: no limit and no time differs"},
	} {
		if page := write(t, test.r); !strings.Contains(page, "<h1>"+test.want+"</h1>") {
			t.Errorf("the page does not say %q", test.want)
		}
	}
}
