package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/junit"
)

// JUnit writes a JUnit report with one test suite for each file and one test case for each case, in
// the given order. The properties of a test case are the seed, hash and replay command of its first
// unsuccessful run, or of its first run, and the statistics of all its runs. The report contains no
// durations: the same cases give the same bytes.
func JUnit(w io.Writer, cases []Case) error {
	all := junit.Report{Name: "probesim"}
	for i := range cases {
		all.Add(cases[i].File, cases[i].junit())
	}
	return all.Write(w)
}

// invalidFile stands for the scenarios of an invalid file.
const invalidFile = "invalid scenario file"

func (c *Case) junit() junit.Case {
	one := junit.Case{Name: fmt.Sprintf("%s [%s]", printable.Text(c.Scenario), c.Kubernetes), Line: c.Line}
	if c.Err != nil {
		one.Name = invalidFile
	}
	if shown := c.shown(); shown != nil {
		one.Properties = &junit.Properties{Properties: append(shown.properties(), c.properties()...)}
		if shown.Output != "" {
			one.Output = &junit.Output{Text: printable.Lines(shown.Output)}
		}
	}
	switch c.Outcome() {
	case Failed:
		one.Failure = &junit.Text{Message: c.headline(), Text: c.failureText()}
	case Broken:
		one.Error = &junit.Text{Message: c.headline(), Text: c.failureText()}
	}
	if c.idle() {
		one.Skipped = &junit.Text{Message: nothing}
	}
	return one
}

// shown returns the first unsuccessful run, or the first run.
func (c *Case) shown() *Run {
	for _, r := range c.Runs {
		if r.Outcome() != OK {
			return r
		}
	}
	if len(c.Runs) > 0 {
		return c.Runs[0]
	}
	return nil
}

func (r *Run) properties() []junit.Property {
	properties := []junit.Property{{Name: "hash", Value: r.Hash}}
	if r.Replay != "" {
		properties = append(properties, junit.Property{Name: "replay", Value: printable.Text(r.Replay)})
	}
	if r.Seed != nil {
		properties = append(properties, junit.Property{Name: "seed", Value: strconv.FormatInt(*r.Seed, 10)})
	}
	return properties
}

// headline summarizes the failures of a case on one line.
func (c *Case) headline() string {
	if c.Err != nil {
		return invalidFile
	}
	for _, r := range c.Runs {
		if r.Err != nil {
			first, _, _ := strings.Cut(r.Err.Error(), "\n")
			return printable.Text(first)
		}
	}
	failed := 0
	for _, r := range c.Runs {
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
	o := Options{Width: 120}
	if c.Err != nil {
		b.WriteString(printable.Lines(c.Err.Error()) + "\n")
	}
	for _, r := range c.Runs {
		if r.Outcome() == OK {
			continue
		}
		RunLine(&b, r, 0, o)
		Notes(&b, r.Notes, o)
		if r.Replay != "" {
			fmt.Fprintf(&b, "to repeat this run: %s\n", printable.Text(r.Replay))
		}
		Failures(&b, r.Expectations, o)
	}
	Failures(&b, c.Expectations, o)
	return b.String()
}
