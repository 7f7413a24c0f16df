package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/html"
	"probesim.dev/internal/show/perfetto"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/summary"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
)

// maxTimelines is the largest number of runs for which timeline is the default format. Cases with
// more runs get a summary instead of a line for each run.
const maxTimelines = 4

// Options say what to write about runs, and where. With the zero value, the formats are those of
// people, and nothing is written.
type Options struct {
	Format         string    // one of Formats(); empty: timeline, or summary if there are many runs
	Verbose        bool      // include internal records in traces
	AllRuns        bool      // include all runs in a page or a Perfetto file
	Stdout, Stderr io.Writer // nil: io.Discard

	Pool    pool.Options
	Invalid scenarios.Errors // of files that do not run, for the reports
}

// output writes the results of runs.
type output struct {
	format   *outputFormat
	verbose  bool
	stdout   io.Writer
	commands io.Writer // stdout for commands to GitHub
	stderr   io.Writer
	text     document.Options
	jobs     []*Job
	pad      int // width of the name column in lines
	progress *Progress

	invalid     scenarios.Errors // of files that did not run
	emitted     int              // number of jobs in cases
	interrupted bool             // ignore the remaining jobs

	cases    []report.Case
	page     html.Page
	perfetto perfetto.Writer
	allRuns  bool              // of all cases
	telling  []*report.Run     // of the last case: those whose output is kept, if the report shows only some
	left     int               // number of runs that the report leaves out
	size     *sizeWriter       // of the page or Perfetto file; nil for other formats
	drawn    *report.Run       // the run of the last case that the JUnit report shows
	best     []expect.Result   // results of the runs of the last case, merged
	shown    map[string]*int64 // failure details of the last case that were written, with the first seed of each
}

// finished is a completed run and its output.
type finished struct {
	run     *report.Run
	results []expect.Result
	text    []byte
	detail  []byte // why the run failed, for lines
	err     error  // write error
}

// Write simulates jobs and writes what they show. It returns the worst outcome. The error is an
// Interrupted if the context is done before all runs are complete, and otherwise about writing.
func Write(ctx context.Context, jobs []*Job, o Options) (report.Outcome, error) {
	out := newOutput(jobs, o)
	defer out.progress.Stop()

	err := pool.InOrder(ctx, len(jobs), o.Pool, func(ctx context.Context, i int) finished {
		return out.run(ctx, jobs[i])
	}, out.emit)
	if err != nil {
		return report.OK, err
	}
	return out.finish(ctx)
}

func newOutput(jobs []*Job, o Options) *output {
	o.Stdout, o.Stderr = cmp.Or(o.Stdout, io.Discard), cmp.Or(o.Stderr, io.Discard)
	out := &output{
		format: formatOf(o.Format, len(jobs)), verbose: o.Verbose, stdout: o.Stdout, commands: o.Stdout,
		stderr: o.Stderr,
		jobs:   jobs, invalid: o.Invalid, allRuns: o.AllRuns,
	}
	out.text = terminal.Options(out.stdout)
	switch {
	case out.format.text:
		out.stdout = terminal.Safe(out.stdout)
	case out.format.large != "":
		out.size = &sizeWriter{Writer: out.stdout}
		out.stdout = out.size
	}
	for i, j := range jobs {
		j.number = i
		out.pad = max(out.pad, min(utf8.RuneCountInString(j.Plan.Scenario.Metadata.Name), 48))
	}
	out.progress = newProgress(out.stderr, jobs, out.format.name != "jsonl") // scripts expect only failures on stderr
	return out
}

// run runs a job and renders its output. Several goroutines call it.
func (out *output) run(ctx context.Context, j *Job) finished {
	if out.format.name == "jsonl" && len(out.jobs) == 1 {
		return out.stream(ctx, j)
	}
	j.also = out.format.also
	return out.render(j.Simulate(ctx, out.verbose, nil, out.progress.Virtual()))
}

func (out *output) render(s *Run) finished {
	m := finished{run: s.Report(), results: s.Results}
	var b bytes.Buffer
	if out.format.render != nil {
		out.format.render(out, &b, &m, s)
	}
	if !out.format.trace { // emit writes traces, because they are larger than the records
		m.run.Records, m.run.Why, m.run.Windows = nil, nil, nil
	}
	m.text = b.Bytes()
	return m
}

// emit writes the output of the next run, in the order of the jobs.
func (out *output) emit(i int, m finished) error {
	if m.err != nil {
		return m.err
	}
	if out.interrupted || m.run.Err == simulate.ErrInterrupted && len(out.jobs) > 1 {
		out.interrupted = true
		return nil
	}
	out.emitted = i + 1
	j, c := out.jobs[i], out.caseOf(i)
	out.progress.Done(out.emitted)
	defer out.progress.Resume()
	if _, err := out.stdout.Write(m.text); err != nil {
		return err
	}
	if err := out.writeNotes(m.run, len(c.Runs) == 0 && !out.summarizes(j)); err != nil {
		return err
	}
	if err := out.writeDetail(m); err != nil {
		return err
	}
	c.Runs = append(c.Runs, m.run)
	if c.Statistics != nil && m.run.Err == nil {
		c.Statistics.Add(m.run.SeedOrZero(), m.run.Pods)
	}
	m.run.Pods = nil
	if out.prunes(j) {
		if out.telling = append(out.telling, m.run); len(out.telling) >= 2*MaxShown {
			out.prune(MaxShown)
		}
	} else if out.format.add != nil {
		if err := out.format.add(out, j, m.run); err != nil {
			return err
		}
	}
	m.run.Records, m.run.Windows = nil, nil
	out.keepFailures(m.run)
	if j.Runs == 1 {
		return nil
	}
	out.best = expect.MergeRuns(out.best, m.results)
	if len(c.Runs) == j.Runs {
		return out.endCase(c)
	}
	return nil
}

// summarizes reports whether the case of a job gets a summary.
func (out *output) summarizes(j *Job) bool {
	return out.format.summarize > 0 && j.Runs >= out.format.summarize
}

// caseOf returns the case of a job. It adds a case if the previous job belongs to another one.
func (out *output) caseOf(i int) *report.Case {
	if i == 0 || out.jobs[i-1].Group != out.jobs[i].Group {
		out.cases = append(out.cases, out.newCase(out.jobs[i]))
		out.best, out.drawn, out.shown = nil, nil, map[string]*int64{}
	}
	return &out.cases[len(out.cases)-1]
}

// addSkipped adds the runs that did not complete as interrupted.
func (out *output) addSkipped() {
	for i := out.emitted; i < len(out.jobs); i++ {
		j, c := out.jobs[i], out.caseOf(i)
		c.Runs = append(c.Runs, (&Run{simulate.Result{Plan: j.Plan, Err: simulate.ErrInterrupted}, j}).Report())
	}
}

// endCase checks the expectations that need to hold in only some runs of the case.
func (out *output) endCase(c *report.Case) error {
	if err := out.addPruned(c); err != nil {
		return err
	}
	c.Expectations = simulate.Expectations(expect.Some([][]expect.Result{out.best}))
	c.Unproven = c.Common()
	summarizes := out.summarizes(out.jobs[out.emitted-1])
	switch {
	case out.format.text && summarizes:
		return report.CaseSummary(out.stdout, c, out.text)
	case out.format.text:
		return report.CaseLine(out.stdout, c, out.pad, out.text)
	case out.format.name != "jsonl":
		return nil
	case !summarizes:
		return out.writeFailures(c.Expectations, nil)
	case c.Outcome() != report.OK:
		return report.CaseSummary(out.stderr, c, document.Options{})
	}
	return nil
}

func (out *output) newCase(j *Job) report.Case {
	s := j.Plan.Scenario
	c := report.Case{Scenario: s.Metadata.Name, Description: s.Spec.Description, File: s.File, Line: s.Line,
		Kubernetes: j.Plan.Version}
	if j.Runs > 1 {
		c.Statistics = summary.New(simulate.Groups(j.Plan))
	}
	return c
}

// finish writes reports over all runs, and returns the worst outcome.
func (out *output) finish(ctx context.Context) (report.Outcome, error) {
	out.progress.Stop()
	ended := ctx.Err() != nil && out.completed() < len(out.jobs)
	if ended && out.format.all {
		out.addSkipped()
	}
	worst := report.Worst(out.cases)
	if worst == report.Broken && out.onlyInvalid() {
		worst = report.Invalid
	}
	err := out.summarizeRest()
	out.cases = append(out.cases, invalidCases(out.invalid)...)
	if err == nil && out.format.finish != nil {
		err = out.format.finish(out)
	}
	if err != nil {
		return worst, err
	}
	out.noteSize()
	if ended {
		return worst, out.interruption(ctx)
	}
	return worst, nil
}

// onlyInvalid reports whether all runs that ended early did so because of what their files say.
func (out *output) onlyInvalid() bool {
	for i := range out.cases {
		for _, r := range out.cases[i].Runs {
			if r.Err != nil && !isInvalid(r.Err) {
				return false
			}
		}
	}
	return true
}

// isInvalid reports whether an error is about a place in a file.
func isInvalid(err error) bool { return errors.As(err, new(strict.Error)) }

// summarizeRest writes the summary of a case that was interrupted. It is about the completed runs.
func (out *output) summarizeRest() error {
	if out.emitted == 0 || out.emitted == len(out.jobs) || out.format.name == "github" {
		return nil
	}
	j, c := out.jobs[out.emitted-1], &out.cases[len(out.cases)-1]
	if err := out.addPruned(c); err != nil {
		return err
	}
	if !out.summarizes(j) || len(c.Runs) == j.Runs {
		return nil
	}
	return report.CaseSummary(out.stdout, c, out.text)
}

// interruption says how many runs completed.
func (out *output) interruption(ctx context.Context) error {
	if j := out.jobs[0]; len(out.jobs) == 1 && out.emitted == 1 {
		return interrupted(ctx, " at %s of %s", value.Format(out.cases[0].Runs[0].Until.Offset()),
			value.Format(j.Until.Offset()))
	}
	return interrupted(ctx, ": %d of %d runs completed", out.completed(), len(out.jobs))
}

func (out *output) completed() int {
	n := 0
	for i := range out.cases {
		for _, r := range out.cases[i].Runs {
			if r.Err != simulate.ErrInterrupted {
				n++
			}
		}
	}
	return n
}

func invalidCases(invalid scenarios.Errors) []report.Case {
	var cases []report.Case
	for i := 0; i < len(invalid); {
		end := i + 1
		for end < len(invalid) && invalid[end].File == invalid[i].File {
			end++
		}
		cases = append(cases, report.Case{File: invalid[i].File, Err: invalid[i:end]})
		i = end
	}
	return cases
}

// keepFailures drops the records around the failures of a run from memory, and with them all others
// of the run, unless a report at the end shows them.
func (out *output) keepFailures(run *report.Run) {
	for _, e := range run.Expectations {
		for i := range e.Failures {
			if !out.format.failures {
				e.Failures[i].Around = []report.Line{}
			}
		}
	}
}
