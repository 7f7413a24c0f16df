package html

import (
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/tune"
)

func s(n float64) check.Seconds { return check.Seconds(n * float64(time.Second)) }

// sample is a report with every part that a page can have.
func sample(text string) *tune.Report {
	return &tune.Report{Kubernetes: []string{text}, Delays: text, Workloads: []tune.Workload{
		{Kind: text, Name: text, File: text, Line: 3, Requirements: []string{text}, Containers: []tune.Container{{
			Name: text, Met: true,
			Changes: []tune.Change{{Field: text, After: 19}},
			Margins: []tune.Margin{{Requirement: "stall>=15s", Value: s(20.99), Margin: s(5.99)}},
			Wider:   &tune.Wider{Field: text, Value: 20, Requirement: text, Margin: s(5)},
			Costs:   []tune.Cost{{Row: check.RowID(text), Before: s(20), After: s(30)}},
			Note:    text,
		}, {Name: "other", Why: []string{text}}}},
		{Kind: text, Name: text, Problem: text, Impossible: []string{text},
			Missing: []tune.Missing{{Requirement: text, Reason: text}}},
	}}
}

func write(t *testing.T, r *tune.Report, comparison string) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r, comparison); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHostileNames checks that names and messages cannot become markup or scripts.
func TestHostileNames(t *testing.T) {
	plain := write(t, sample("name"), "name")
	for _, evil := range []string{`</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`,
		`"><svg onload=alert(1)>`, "\x1b[31m\u2028"} {
		page := write(t, sample(evil), evil)
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

// TestTitle checks what the page says first.
func TestTitle(t *testing.T) {
	met := sample("name")
	met.Workloads = met.Workloads[:1]
	met.Workloads[0].Containers = met.Workloads[0].Containers[:1]
	for _, test := range []struct {
		r    *tune.Report
		want string
	}{
		{sample("name"), "A workload could not be tuned"},
		{&tune.Report{Workloads: []tune.Workload{{Containers: []tune.Container{{}}}}},
			"No setting meets all requirements"},
		{&tune.Report{Workloads: []tune.Workload{{Containers: []tune.Container{{Met: true}}}}},
			"The requirements are met already"},
		{met, "Settings that meet the requirements"},
	} {
		if page := write(t, test.r, ""); !strings.Contains(page, "<h1>"+test.want+"</h1>") {
			t.Errorf("the page does not say %q", test.want)
		}
	}
}
