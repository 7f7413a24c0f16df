package report

import (
	"fmt"
	"strconv"
	"strings"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/findings"
)

// Findings returns the failures of cases for CI systems. An expectation that failed in several runs
// of a case is one finding. The properties of a case are the seed, hash and replay command of its
// first unsuccessful run, or of its first run.
func Findings(cases []Case) *findings.List {
	list := &findings.List{Command: "probesim",
		Rules: []findings.Rule{{ID: "expectation", Text: "An expectation failed"}}}
	for i := range cases {
		list.Cases = append(list.Cases, cases[i].findings())
	}
	return list
}

// invalidFile stands for the scenarios of an invalid file.
const invalidFile = "invalid scenario file"

func (c *Case) findings() findings.Case {
	one := findings.Case{Name: c.Scenario + " [" + c.Kubernetes + "]", File: c.File, Line: c.Line,
		Ended: c.Outcome() == Broken}
	if c.Err != nil {
		one.Name, one.Message, one.Text = invalidFile, invalidFile, c.Err.Error()
		return one
	}
	if r := c.Shown(); r != nil {
		one.Properties, one.Output = r.properties(), r.Output
	}
	if c.Outcome() != OK {
		one.Message, one.Text = c.message(), c.failureText()
	}
	if c.idle() {
		one.Skipped = nothing
	}
	one.Findings = c.failures(one.Name)
	return one
}

// failures returns a finding for each failed expectation, and for the first run that ended early.
func (c *Case) failures(title string) (list []findings.Finding) {
	for _, r := range c.Runs {
		if r.Err != nil {
			list = append(list, findings.Finding{Rule: "expectation", Level: findings.Error, File: c.File, Line: c.Line,
				Title: title + " ended early", Message: withReplay(r.Err.Error(), r), Fails: true})
			break
		}
	}
	add := func(e *Expectation, more string) {
		list = append(list, findings.Finding{Rule: "expectation", Level: findings.Error, File: e.File, Line: e.Line,
			Column: e.Column, Title: title + " failed", Message: e.message(more), Fails: true})
	}
	for i := range c.Expectations {
		if e := &c.Expectations[i]; e.Outcome == Failed {
			add(e, fmt.Sprintf("It did not hold in any of %s.", Plural(len(c.Runs), "run")))
		}
	}
	for _, t := range c.tallies() {
		if t.First == nil {
			continue
		}
		more := ""
		if len(c.Runs) > 1 {
			more = fmt.Sprintf("It failed in %d of %d runs.", t.Broken, len(c.Runs))
		}
		add(t.Expectation, withReplay(more, t.First))
	}
	return list
}

// message describes a failed expectation in lines.
func (e *Expectation) message(more string) string {
	lines := []string{e.Name}
	if e.Why != "" {
		lines = append(lines, e.Why)
	}
	for _, f := range e.Failures {
		lines = append(lines, "expected  "+f.Expected, "got       "+f.Got)
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.TrimSuffix(strings.Join(lines, "\n")+"\n"+more, "\n")
}

func withReplay(text string, r *Run) string {
	if r.Replay == "" {
		return text
	}
	return strings.TrimPrefix(text+"\nTo repeat this run: "+r.Replay, "\n")
}

// Shown returns the first unsuccessful run, or the first run.
func (c *Case) Shown() *Run {
	if r := c.firstFailed(); r != nil || len(c.Runs) == 0 {
		return r
	}
	return c.Runs[0]
}

func (r *Run) properties() []findings.Property {
	properties := []findings.Property{{Name: "hash", Value: r.Hash}}
	if r.Replay != "" {
		properties = append(properties, findings.Property{Name: "replay", Value: r.Replay})
	}
	if r.Seed != nil {
		properties = append(properties, findings.Property{Name: "seed", Value: strconv.FormatInt(*r.Seed, 10)})
	}
	return properties
}

// message summarizes the failures of a case on one line.
func (c *Case) message() string {
	failed := 0
	for _, r := range c.Runs {
		if r.Err != nil {
			return errorLines(r.Err)[0]
		}
		if r.Outcome() == Failed {
			failed++
		}
	}
	switch {
	case len(c.Runs) == 1:
		return "an expectation failed"
	case failed == 0:
		return fmt.Sprintf("an expectation held in none of %d runs", len(c.Runs))
	}
	return fmt.Sprintf("%d of %d runs failed", failed, len(c.Runs))
}

// failureText describes all failures of a case, run by run.
func (c *Case) failureText() string {
	var b strings.Builder
	o := document.Options{Width: 120}
	for _, r := range c.Runs {
		if r.Outcome() == OK {
			continue
		}
		RunLine(&b, r, 0, o)
		document.WriteText(&b, o, func(d *document.Body) { AddNotes(d, r.Notes) })
		if r.Replay != "" {
			fmt.Fprintf(&b, "to repeat this run: %s\n", r.Replay)
		}
		document.WriteText(&b, o, func(d *document.Body) { AddFailures(d, r.Expectations) })
	}
	document.WriteText(&b, o, func(d *document.Body) { AddFailures(d, c.Expectations) })
	return b.String()
}
