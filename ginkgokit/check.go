package ginkgokit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onsi/ginkgo/v2"

	"probesim.dev/report"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/simulate"
)

// maxSeeds is how many of the seeds with which a spec failed are listed. The first is told of in full.
const maxSeeds = 20

// width is how wide text in messages is. Ginkgo indents them, and CI shows them in wide windows.
const width = 100

// check makes the runs of a scenario with one version, and fails the spec if an expectation does not hold.
func check(ctx context.Context, plans []*scenarios.Plan) {
	c := outcome{runs: len(plans)}
	for _, plan := range plans {
		r := simulate.Run(ctx, plan, simulate.Options{})
		if errors.Is(r.Err, simulate.ErrInterrupted) {
			ginkgo.Fail(fmt.Sprintf("interrupted after %d of %d runs", c.made, c.runs))
		}
		if len(plans) == 1 {
			r.Alone()
		}
		c.add(r)
	}
	if message := c.message(simulate.Expectations(expect.Some(c.results))); message != "" {
		ginkgo.Fail(message)
	}
	ginkgo.AddReportEntry("timeline", wholeRun(c.shown), ginkgo.ReportEntryVisibilityFailureOrVerbose, location(plans[0].Scenario.Pos))
}

// outcome is what became of the runs of a spec.
type outcome struct {
	runs    int // that there are
	made    int
	failed  []*int64    // seeds of those that failed
	told    string      // of the first of them
	shown   *report.Run // that one, or the first
	results [][]expect.Result
}

func (c *outcome) add(r *simulate.Result) {
	run := r.Report(simulate.Command(r.Plan))
	bad := run.Outcome() != report.OK
	if bad && c.failed == nil || c.shown == nil {
		c.shown = run
	}
	if bad && c.failed == nil {
		c.told = failureOf(run)
	}
	if bad {
		c.failed = append(c.failed, r.Plan.Seed)
	}
	c.made++
	c.results = append(c.results, r.Results)
}

// message says what is wrong with the runs together; nothing if nothing is.
func (c *outcome) message(some []report.Expectation) string {
	var b strings.Builder
	report.Failures(&b, some, report.Options{Width: width})
	unmet := b.String()
	if c.failed == nil && unmet == "" {
		return ""
	}
	text := "an expectation failed"
	switch {
	case c.failed == nil:
		return fmt.Sprintf("an expectation held in none of %d runs\n\n%s\n%s", c.runs, unmet, again(c.shown.Replay))
	case c.runs > 1:
		text = fmt.Sprintf("%d of %d runs failed", len(c.failed), c.runs)
	}
	text += "\n\n" + c.told
	if len(c.failed) > 1 {
		text += "It failed as well with " + seeds(c.failed[1:]) + ".\n"
	}
	if unmet != "" {
		text += "\nIn none of the runs held\n" + unmet
	}
	return strings.TrimRight(text, "\n")
}

// seeds lists the seeds of runs, the first of them.
func seeds(list []*int64) string {
	words := []string{}
	for i, seed := range list {
		if i == maxSeeds {
			words = append(words, fmt.Sprintf("and %d more", len(list)-maxSeeds))
			break
		}
		words = append(words, fmt.Sprint(*seed))
	}
	if len(list) == 1 {
		return "seed " + words[0]
	}
	return "seeds " + strings.Join(words, ", ")
}

// failureOf tells of a run that failed.
func failureOf(run *report.Run) string {
	var b strings.Builder
	o := report.Options{Width: width}
	report.RunLine(&b, run, 0, o)
	report.Failures(&b, run.Expectations, o)
	if run.Err != nil { // which says how to make it again
		return b.String()
	}
	for _, part := range parts(run) {
		o.From, o.To = part.from, part.to
		b.WriteString("\n")
		report.Timeline(&b, run, o)
	}
	b.WriteString("\n" + again(run.Replay))
	return b.String()
}

func again(command string) string {
	return "Run it again, in the folder of the suite, with:\n  " + command + "\n"
}

// wholeRun shows a run, as it goes into the report of its spec.
func wholeRun(run *report.Run) string {
	var b strings.Builder
	report.Heading(&b, run, report.Options{Width: width})
	return b.String() + "\n" + timelineAndEvents(run)
}

func timelineAndEvents(run *report.Run) string {
	var b strings.Builder
	o := report.Options{Width: width}
	report.Timeline(&b, run, o)
	b.WriteString("\n")
	report.Events(&b, run, o)
	return b.String()
}
