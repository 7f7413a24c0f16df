package incident

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/input"
	"probesim.dev/internal/long"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
)

// TestLimits reads large files that were made to be expensive. Each takes seconds at most, and a
// problem tells what was left out.
func TestLimits(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	event := `{"kind":"Event","metadata":{"name":"e%[1]d"},"involvedObject":{"kind":"Pod","name":"a","fieldPath":"spec.containers{c%[1]d}"},"reason":"Started","firstTimestamp":"2024-01-01T00:00:00Z"}` + "\n"
	for name, test := range map[string]struct{ input, problem string }{
		"brackets":     {strings.Repeat("[\n", 1<<20), "nothing was read"},
		"open objects": {strings.Repeat(`{"a":`+"\n", 1<<19), "nothing was read"},
		"facts": {many(maxFacts+10,
			`{"kind":"Event","metadata":{"name":"e%d"},"involvedObject":{"kind":"Pod","name":"a"},"reason":"Started","firstTimestamp":"2024-01-01T00:00:00Z"}`+"\n"), "more than 200000 facts"},
		"containers":  {many(2000, event), "more than 200 containers"},
		"pods":        {many(maxPods+10, "web-%d   1/1   Running   0   5s\n"), "more than 5000 pods"},
		"problems":    {many(1000, `{"kind":"Event","n":%d}`+"\n"), "there are more problems"},
		"a long line": {strings.Repeat("x", 1<<22), "nothing was read"},
		"unnamed pods": {many(3000, "{}\n  Normal  Started  %ds  kubelet  Started container a\n"),
			"does not name its pod"},
		"nested lists": {strings.Repeat(`{"kind":"List","items":[`, 50) + strings.Repeat("]}", 50), "nested deeper"},
		"a large count": {
			`{"kind":"Event","metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"a"},"reason":"Unhealthy","message":"Liveness probe failed: ","count":2000000000,"firstTimestamp":"2024-01-01T00:00:00Z","lastTimestamp":"2090-01-01T00:00:00Z"}`, ""},
		"odd times": {event1("0001-01-01T00:00:00Z") + event1("9999-01-01T00:00:00Z") +
			event1("2024-01-01T00:00:00Z"), "is no time of a cluster"},
		"decades": {event1("2001-01-01T00:00:00Z") + event1("2026-01-01T00:00:00Z"), ""},
		"a wide range": {"  Normal  Started  99999d (x3 over 99999y)  kubelet  Started container a\n",
			"does not name its pod"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(test.input) > 16<<20 && !long.Enabled() {
				t.Skip("large files are read with PROBESIM_LONG")
			}
			r := Read([]input.File{{Name: "f", Data: []byte(test.input)}})
			var b strings.Builder
			if err := report.Timeline(&b, r.RunOf(r.Pods), document.Options{}); err != nil {
				t.Error(err)
			}
			var all []string
			for _, p := range r.Problems {
				all = append(all, p.Message)
			}
			if text := strings.Join(all, "\n"); !strings.Contains(text, test.problem) {
				t.Errorf("the problems are %.300q, want %q", text, test.problem)
			}
			if len(r.Problems) > maxProblems+2 || r.End.Sub(r.Start) < 0 || r.End.Sub(r.Start) > 250*365*24*time.Hour {
				t.Errorf("%d problems, %s", len(r.Problems), r.End.Sub(r.Start))
			}
		})
	}
}

func event1(at string) string {
	return `{"kind":"Event","metadata":{"name":"e` + at +
		`"},"involvedObject":{"kind":"Pod","name":"a"},"reason":"Killing","firstTimestamp":"` + at + `"}` + "\n"
}
