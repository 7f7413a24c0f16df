package render

import (
	"fmt"
	"strings"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/show/findings"
)

var rules = []findings.Rule{
	{ID: "rollout", Text: "A rollout loses requests, or does not complete.",
		Help: "The message has changes that help, and the command that draws the worst run."},
	{ID: "requirement", Text: "A requirement is not met.",
		Help: "The value misses what --require or the annotation probesim.dev/require asks for."},
}

// Findings returns what is wrong: each workload that loses requests or does not complete, and each
// requirement that is not met.
func Findings(r *rollout.Report) *findings.List {
	list := &findings.List{Command: "probesim rollout", Rules: rules}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		c := findings.Case{Name: w.Title(), File: w.File, Line: w.Line, Notes: w.NotSimulated}
		if w.Verdict != rollout.LosesNone || len(w.Waits) > 0 {
			f := findings.Finding{Rule: "rollout", Level: findings.Note, File: w.File, Line: w.Line, Title: w.Title(),
				Message: message(r, w), Command: w.Worst.Command, Fails: w.Bad()}
			if f.Fails { // otherwise, a requirement lets it lose as many, or wait
				f.Level = findings.Error
			}
			c.Findings = []findings.Finding{f}
		}
		list.Cases = append(list.Cases, c)
		for _, v := range w.Requirements {
			list.Require(findings.Finding{File: w.File, Line: w.Line, Title: w.Title(), Message: Requirement(&v)},
				v.Requirement, v.Met)
		}
	}
	return list
}

// message tells the verdict, explains it, and tells what helps.
func message(r *rollout.Report, w *rollout.Workload) string {
	lines := []string{Headline(r, w)}
	if w.Reason != "" {
		lines = append(lines, w.Reason)
	}
	if w.Fix != "" {
		lines = append(lines, "Fix: "+w.Fix)
	}
	for _, f := range w.Fixes {
		lines = append(lines, fmt.Sprintf("%s %s (line %d)", FixWord(&f), Fix(&f), f.Line))
	}
	return strings.Join(lines, "\n")
}

// TunedFindings returns the requirements that no change meets.
func TunedFindings(r *rollout.Tuning) *findings.List {
	list := &findings.List{Command: "probesim tune", Rules: rules}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for _, q := range w.Requirements {
			list.Require(findings.Finding{File: w.File, Line: w.Line, Title: w.Title(), Message: TunedRow(w, &q)},
				q.Requirement, q.After.Met)
		}
	}
	return list
}
