// Package verdict makes the runs of a scenario and describes the failures, for the packages that
// run scenarios as Go tests: probetest and ginkgokit.
package verdict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// Width is the number of columns of text in messages. Test frameworks indent messages, and CI shows
// them in wide windows.
const Width = 100

// maxSeeds is the number of failed seeds that a message lists. The message shows the first failed
// run in full.
const maxSeeds = 20

// Verdict is the outcome of the runs of one scenario with one version of Kubernetes.
type Verdict struct {
	Failure  string // the message of the failed test; empty: all expectations held
	Skip     string // the message of a test that checked nothing: no expectation applies to its version
	Timeline string // the first failed run, or the first run, from its beginning to its end
}

// ByVersion groups the runs of a scenario by their version of Kubernetes, in their order. Each
// group becomes one test.
func ByVersion(plans []*scenarios.Plan) [][]*scenarios.Plan {
	var groups [][]*scenarios.Plan
	for i, p := range plans {
		if i == 0 || plans[i-1].Version != p.Version {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, p)
	}
	return groups
}

// Of makes the planned runs and checks their expectations. It stops early when ctx is done; the
// Failure then says so.
func Of(ctx context.Context, plans []*scenarios.Plan) Verdict {
	c := outcome{runs: len(plans)}
	for _, plan := range plans {
		r := simulate.Run(ctx, plan, simulate.Options{})
		if errors.Is(r.Err, simulate.ErrInterrupted) {
			return Verdict{Failure: fmt.Sprintf("interrupted after %d of %d runs", c.made, c.runs)}
		}
		if len(plans) == 1 {
			r.Alone()
		}
		c.add(r)
	}
	v := Verdict{Failure: c.message(simulate.Expectations(expect.Some(c.results))), Timeline: wholeRun(c.shown)}
	if v.Failure == "" && c.checked == 0 {
		v.Skip = "nothing was checked: no expectation applies to " + plans[0].Version
	}
	return v
}

// outcome collects the results of the runs of one test.
type outcome struct {
	runs    int // planned
	made    int
	checked int         // expectations that applied to a run
	failed  []*int64    // seeds of the failed runs
	told    string      // description of the first failed run
	shown   *report.Run // the first failed run, or the first run
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
	c.checked += run.Checked()
	c.results = append(c.results, r.Results)
}

// message describes the failures of all runs together. It is empty if all expectations held.
func (c *outcome) message(some []report.Expectation) string {
	var b strings.Builder
	document.WriteText(&b, document.Options{Width: Width}, func(d *document.Body) { report.AddFailures(d, some) })
	unmet := b.String()
	if c.failed == nil && unmet == "" {
		return ""
	}
	text := "an expectation failed"
	switch {
	case c.failed == nil:
		return fmt.Sprintf("an expectation held in none of %d runs\n\n%s\n%s", c.runs, unmet, RunAgain(c.shown.Replay))
	case c.runs > 1:
		text = fmt.Sprintf("%d of %d runs failed", len(c.failed), c.runs)
	}
	text += "\n\n" + c.told
	if len(c.failed) > 1 {
		text += "It also failed with " + seeds(c.failed[1:]) + ".\n"
	}
	if unmet != "" {
		text += "\nThese expectations held in none of the runs:\n" + unmet
	}
	return strings.TrimRight(text, "\n")
}

// seeds lists the first seeds of runs.
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

// failureOf describes a failed run.
func failureOf(run *report.Run) string {
	var b strings.Builder
	o := document.Options{Width: Width}
	report.RunLine(&b, run, 0, o)
	document.WriteText(&b, o, func(d *document.Body) {
		report.AddNotes(d, run.Notes)
		report.AddFailures(d, run.Expectations)
	})
	if run.Err != nil { // the error contains the command
		return b.String()
	}
	for _, part := range parts(run) {
		shown := *run
		shown.From, shown.To = part.from, part.to
		b.WriteString("\n")
		report.Timeline(&b, &shown, o)
	}
	b.WriteString("\n" + RunAgain(run.Replay))
	return b.String()
}

// RunAgain tells the reader of a message how to repeat a run.
func RunAgain(command string) string {
	return "To repeat this run, execute in the directory of the test:\n  " + printable.Text(command) + "\n"
}

// wholeRun shows a run from its beginning to its end.
func wholeRun(run *report.Run) string {
	var b strings.Builder
	document.WriteText(&b, document.Options{Width: Width}, run.AddHeading)
	return b.String() + "\n" + TimelineAndEvents(run)
}

// TimelineAndEvents shows the timeline of a run and its events as kubectl lists them.
func TimelineAndEvents(run *report.Run) string {
	var b strings.Builder
	o := document.Options{Width: Width}
	report.Timeline(&b, run, o)
	b.WriteString("\n")
	document.WriteText(&b, o, run.AddEvents)
	return b.String()
}

// shown is the time that a timeline shows before a failure. It shows at least as much time after
// the failure, unless the run ends earlier.
const shown = 40 * time.Second

// Around returns the part of a run to show around a moment. The run ends at end.
func Around(t, end virtual.Time) (from, to virtual.Time) {
	start := max(0, min(t, end).Add(-shown))
	from = virtual.At(start.Offset().Truncate(time.Second))
	return from, min(end, from.Add(2*shown))
}

// part is a part of a run that a message shows.
type part struct{ from, to virtual.Time }

// maxParts is the number of parts of a run that a message shows.
const maxParts = 3

// parts returns the parts of a run that show the moments of its failures.
func parts(run *report.Run) []part {
	var list []part
	for _, t := range moments(run.Expectations) {
		within := func(p part) bool { return p.from <= t && t <= p.to }
		if len(list) < maxParts && !slices.ContainsFunc(list, within) {
			from, to := Around(t, run.Until)
			list = append(list, part{from, to})
		}
	}
	return list
}

// moments returns the virtual times of failures: the time of the marked record, or of the middle
// one of those around it.
func moments(all []report.Expectation) []virtual.Time {
	var list []virtual.Time
	for i := range all {
		for _, f := range all[i].Failures {
			if len(f.Around) == 0 {
				continue
			}
			middle := f.Around[len(f.Around)/2]
			for _, l := range slices.Backward(f.Around) {
				if l.Mark {
					middle = l
				}
			}
			list = append(list, middle.Record.T)
		}
	}
	return list
}
