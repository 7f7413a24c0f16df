package verdict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/input"
)

// TestReadSays prints what is said about the texts in testdata/says. Run it with -rewrite to change
// the outputs.
func TestReadSays(t *testing.T) {
	datadriven.Walk(t, "testdata/says", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			text := strings.ReplaceAll(d.Input, "\\n\n", "\n\n") // a blank line would end the input
			rec := incident.Read([]input.File{{Name: "stdin", Data: []byte(text + "\n")}})
			list := verdict.Of(rec).Verdicts
			if list[0].Cause == verdict.NoFacts {
				return "no facts\n"
			}
			var b strings.Builder
			for _, v := range list {
				pod := ""
				if v.Pod != nil && !v.Pod.Unnamed {
					pod = v.Pod.Key() + ": "
				}
				fmt.Fprintf(&b, "%s %s %s %v\n%s%s\n", v.Sure, v.Cause, v.Container, v.Or, pod,
					strings.TrimSpace(v.Sentence+" "+v.Because))
				for _, line := range v.Details {
					fmt.Fprintf(&b, "  %s\n", line)
				}
				for _, line := range v.Advice {
					fmt.Fprintf(&b, "  Do: %s\n", line)
				}
				if v.Next != "" {
					fmt.Fprintf(&b, "  Next: %s\n", v.Next)
				}
				if q := v.Question; q != nil {
					fmt.Fprintf(&b, "  Ask: %s\n    %s\n", q.Asks, q.Command)
				}
			}
			return b.String()
		})
	})
}
