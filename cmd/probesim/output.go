package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"probesim.dev/report"
	"probesim.dev/report/html"
	"probesim.dev/report/perfetto"
	"probesim.dev/report/summary"
	"probesim.dev/report/why"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/simulate"
)

// outputs are the values of --output.
var outputs = []string{"timeline", "summary", "lines", "jsonl", "json", "junit", "html", "perfetto", "github"}

// maxTimelines is the largest number of runs for which timeline is the default output. Cases with more runs get a summary instead
// of a line for each run.
const maxTimelines = 4

func (o *runOptions) checkOutput() error {
	if o.output != "" && !slices.Contains(outputs, o.output) {
		return fmt.Errorf("--output must be one of %s, not %q", strings.Join(outputs, ", "), o.output)
	}
	return nil
}

// perfettoFactor is the memory that the events of a Perfetto file take for each byte of the trace, with the trace itself.
const perfettoFactor = 1.6

// output writes the results of runs.
type output struct {
	format   string
	verbose  bool
	stdout   io.Writer
	commands io.Writer // stdout for commands to GitHub
	stderr   io.Writer
	text     report.Options
	jobs     []*job
	pad      int // width of the name column in lines
	progress *progress
	// summarize is the number of runs from which a case gets a summary instead of a line for each run; 0 means never.
	summarize int
	room      int64 // memory left for the statistics of cases, in bytes

	invalid     scenarios.Errors // of files that did not run
	emitted     int              // number of jobs in cases
	done        int              // number of them that the report shows
	interrupted bool             // ignore the remaining jobs

	cases    []report.Case
	page     html.Page
	perfetto *perfetto.Writer
	size     *sizeWriter // of the page or Perfetto file; nil for other formats
	kept     failures
	drawn    *report.Run       // the run of the last case that the JUnit report shows
	group    [][]expect.Result // results of the runs of the last case
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

func runJobs(cmd *cobra.Command, jobs []*job, invalid scenarios.Errors, o runOptions) error {
	out := newOutput(cmd, jobs, o)
	out.invalid = invalid
	defer func() { out.progress.stop() }()
	ctx := cmd.Context()
	p := pool{parallel: o.parallel, ahead: 4 * o.parallel, memory: o.memory}
	if out.format == "perfetto" {
		p.factor = perfettoFactor
	}
	err := out.survey(ctx, p, o.allRuns)
	if err == nil {
		out.startProgress()
		err = inOrder(ctx, len(jobs), p, func(a *account) finished { return out.run(a, jobs[a.number]) }, out.emit)
	}
	if err == nil && ctx.Err() != nil {
		err = out.emitSurveyed()
	}
	if err == nil {
		err = out.finish(ctx.Err() != nil)
	}
	if err == nil || errors.As(err, new(*exitError)) {
		return err
	}
	return writeError(err)
}

func newOutput(cmd *cobra.Command, jobs []*job, o runOptions) *output {
	out := &output{format: o.output, verbose: o.verbose, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), jobs: jobs}
	if out.format == "" {
		out.format = "timeline"
		if len(jobs) > maxTimelines {
			out.format, out.summarize = "summary", maxTimelines+1
		}
	}
	switch o.output {
	case "summary":
		out.summarize = 2
	case "github", "jsonl":
		out.summarize = maxTimelines + 1
	}
	out.text = textOptions(out.stdout)
	out.kept.room, out.room = o.memory.results(), o.memory.results()
	out.commands = out.stdout
	if slices.Contains([]string{"timeline", "summary", "lines", "github"}, out.format) {
		out.stdout = safeText(out.stdout)
	}
	if out.format == "html" || out.format == "perfetto" {
		out.size = &sizeWriter{Writer: out.stdout}
		out.stdout = out.size
	}
	out.perfetto = perfetto.NewWriter(out.stdout)
	for _, j := range jobs {
		out.pad = max(out.pad, min(utf8.RuneCountInString(j.plan.Scenario.Metadata.Name), 48))
	}
	out.progress = newProgress(out.stderr, nil)
	return out
}

// startProgress shows the progress of the jobs.
func (out *output) startProgress() {
	out.progress.stop()
	jobs := slices.DeleteFunc(slices.Clone(out.jobs), func(j *job) bool { return !j.shown() })
	out.progress = newProgress(out.stderr, jobs)
	out.progress.silent = out.format == "jsonl" && !out.progress.terminal // scripts expect only failures on stderr
	go out.progress.loop()
}

// run runs a job and renders its output. Several goroutines call it.
func (out *output) run(a *account, j *job) finished {
	switch {
	case out.format == "jsonl" && len(out.jobs) == 1:
		return out.stream(a, j)
	case !j.shown():
		return *j.surveyed
	}
	m := out.render(j.simulate(a, out.verbose, nil, out.progress.virtual()))
	if m.run.Records == nil {
		a.shrink(m.size())
	}
	return m
}

// size returns the memory of a result that waits to be written, in bytes.
func (m *finished) size() int64 {
	return int64(len(m.text)+len(m.detail)+len(m.run.Output)) + sizeOfFailures(m.run.Expectations)
}

// render renders the output of a run.
func (out *output) render(s *simulation) finished {
	m := finished{run: s.report(), results: s.results}
	var b bytes.Buffer
	switch out.format {
	case "timeline":
		out.timeline(&b, m.run, s)
	case "summary", "lines", "github":
		if !out.summarizes(s.job) {
			report.RunLine(&b, m.run, out.pad, out.text)
			m.detail = out.detail(m.run)
		}
	case "junit":
		report.Timeline(&b, m.run, report.Options{Width: 120})
		m.run.Output = b.String()
		b.Reset()
	case "html":
		m.run.Why = why.New(s.records, pods(s.job.plan), s.end)
		m.err = html.Section(&b, m.run)
		m.run.Output = b.String()
		b.Reset()
	}
	if out.format != "perfetto" && out.format != "jsonl" { // emit writes these, because they are larger than the trace
		m.run.Records, m.run.Why = nil, nil
	}
	m.text = b.Bytes()
	return m
}

// emit writes the output of the next run, in the order of the jobs.
func (out *output) emit(i int, m finished) error {
	if m.err != nil {
		return m.err
	}
	if out.interrupted || m.run.Err == errInterrupted && len(out.jobs) > 1 {
		out.interrupted = true
		return nil
	}
	out.emitted = i + 1
	j, c := out.jobs[i], out.caseOf(i)
	if j.shown() {
		out.done++
	}
	out.progress.done(out.done)
	defer out.progress.resume()
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
	switch out.format {
	case "junit":
		out.keepShown(m.run)
	case "html":
		out.page.Add(m.run)
	case "perfetto":
		if j.shown() {
			if err := out.perfetto.Add(m.run, len(out.jobs) > 1); err != nil {
				return err
			}
		}
	case "jsonl":
		if m.run.Records != nil {
			if err := writeTrace(out.stdout, j.plan, m.run.Records); err != nil {
				return err
			}
		}
	}
	m.run.Records = nil
	if out.format == "jsonl" && !out.summarizes(j) {
		if err := out.writeFailures(m.run.Expectations, m.run.Err, m.run.Replay); err != nil {
			return err
		}
	}
	out.keepFailures(m.run)
	if j.runs == 1 {
		return nil
	}
	out.group = append(out.group, out.kept.some(m.results))
	if len(c.Runs) == j.runs {
		return out.endCase(c)
	}
	return nil
}

// emitSurveyed emits the results of a survey after an interrupt.
func (out *output) emitSurveyed() error {
	for i := out.emitted; i < len(out.jobs) && out.jobs[i].surveyed != nil && !out.interrupted; i++ {
		if err := out.emit(i, *out.jobs[i].surveyed); err != nil {
			return err
		}
	}
	return nil
}

// summarizes reports whether the case of a job gets a summary.
func (out *output) summarizes(j *job) bool { return out.summarize > 0 && j.runs >= out.summarize }

// keepShown drops the text of runs that the JUnit report does not show: it shows the first unsuccessful run of a case, or the first
// run.
func (out *output) keepShown(run *report.Run) {
	switch {
	case out.drawn == nil:
		out.drawn = run
	case out.drawn.Outcome() == report.OK && run.Outcome() != report.OK:
		out.drawn.Output = ""
		out.drawn = run
	default:
		run.Output = ""
	}
}

// caseOf returns the case of a job. It adds a case if the previous job belongs to another one.
func (out *output) caseOf(i int) *report.Case {
	if i == 0 || out.jobs[i-1].group != out.jobs[i].group {
		out.cases = append(out.cases, out.newCase(out.jobs[i]))
		out.group, out.shown = nil, map[string]*int64{}
		out.drawn = nil
		out.kept.described, out.kept.explained = map[*format.Expect]bool{}, map[position]bool{}
	}
	return &out.cases[len(out.cases)-1]
}

// addSkipped adds the runs that did not complete as interrupted. A report without them would read as a success.
func (out *output) addSkipped() {
	for i := out.emitted; i < len(out.jobs); i++ {
		j, c := out.jobs[i], out.caseOf(i)
		c.Runs = append(c.Runs, (&simulation{job: j, err: errInterrupted}).report())
	}
}

// endCase checks the expectations that need to hold in only some runs of the case.
func (out *output) endCase(c *report.Case) error {
	c.Expectations = simulate.Expectations(expect.Some(out.group))
	switch out.format {
	case "timeline", "summary", "lines", "github":
		if out.summarizes(out.jobs[out.emitted-1]) {
			return report.CaseSummary(out.stdout, c, out.pad, out.text)
		}
		return report.CaseLine(out.stdout, c, out.pad, out.text)
	case "jsonl":
		switch {
		case !out.summarizes(out.jobs[out.emitted-1]):
			return out.writeFailures(c.Expectations, nil, "")
		case c.Outcome() != report.OK:
			return report.CaseSummary(out.stderr, c, 0, report.Options{})
		}
	}
	return nil
}

func (out *output) newCase(j *job) report.Case {
	s := j.plan.Scenario
	c := report.Case{Scenario: s.Metadata.Name, Description: s.Spec.Description, File: s.File, Line: s.Line, Kubernetes: j.plan.Version}
	if j.runs > 1 {
		c.Statistics = summary.New(simulate.Groups(j.plan), &out.room)
	}
	return c
}
