package runner

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"probesim.dev/internal/runner/actions"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/html"
	"probesim.dev/internal/show/perfetto"
	"probesim.dev/internal/show/report"
	"probesim.dev/trace"
)

// outputFormat is an output format of Write.
type outputFormat struct {
	name string
	// summarize is the number of runs from which a case gets a summary instead of a line for each
	// run; 0 means never.
	summarize int
	// text says that the output is text for people, with a line or a summary for each case.
	text bool
	// trace says that stdout has traces. The notes about runs and their failures go to stderr.
	trace bool
	// all says that the report lists the runs that an interrupt left out. A report without them
	// would read as a success.
	all bool
	// failures says that the report at the end describes the failures of runs.
	failures bool
	// large says what a file has of each run. It has some of the runs only, because it would become
	// too large.
	large string
	// also are internal kinds of records that the report needs.
	also []trace.Kind
	// notes says that the first run of a case is followed by the notes about it.
	notes bool

	render func(*output, *bytes.Buffer, *finished, *Run) // renders a run; several goroutines call it
	add    func(*output, *Job, *report.Run) error        // adds the next run, in order
	finish func(*output) error                           // writes the report over all runs
}

// formats are the output formats, in the order of the help text.
var formats = []*outputFormat{
	{name: "timeline", text: true, render: (*output).timeline, finish: (*output).writeSummary},
	{name: "summary", text: true, notes: true, summarize: 2, render: (*output).runLine, finish: (*output).writeSummary},
	{name: "lines", text: true, notes: true, render: (*output).runLine, finish: (*output).writeSummary},
	{name: "jsonl", trace: true, notes: true, summarize: maxTimelines + 1, add: (*output).addTrace},
	{name: "json", all: true, failures: true, finish: func(out *output) error {
		return report.JSON(out.stdout, out.cases)
	}},
	{
		name: "junit", all: true, failures: true, add: (*output).keepShown,
		render: func(_ *output, b *bytes.Buffer, m *finished, _ *Run) { m.draw(b, 120) },
		finish: func(out *output) error { return report.Findings(out.cases).Write(out.stdout, "junit", actions.Path) },
	},
	{
		name: "markdown", all: true, failures: true, add: (*output).keepShown,
		render: func(_ *output, b *bytes.Buffer, m *finished, _ *Run) { m.draw(b, 80) },
		finish: func(out *output) error { return report.Markdown(out.stdout, out.cases) },
	},
	{
		name: "html", all: true, large: "page has timelines", also: []trace.Kind{trace.Behavior},
		render: func(_ *output, b *bytes.Buffer, m *finished, s *Run) {
			m.run.Why = s.Why()
			m.err = html.Section(b, m.run)
			m.toReport(b)
		},
		add: func(out *output, _ *Job, run *report.Run) error {
			out.page.Add(run)
			return nil
		},
		finish: func(out *output) error { return out.page.Write(out.stdout, out.cases) },
	},
	{
		name: "svg", trace: true, notes: true,
		render: func(_ *output, b *bytes.Buffer, m *finished, s *Run) {
			m.run.From = s.Job.from
			m.err = html.SVG(b, m.run)
		},
	},
	{
		name: "perfetto", trace: true, notes: true, large: "file has the traces",
		render: func(out *output, b *bytes.Buffer, m *finished, s *Run) {
			m.err = perfetto.Render(b, m.run, s.Job.number, len(out.jobs) > 1)
			m.toReport(b)
		},
		add: func(out *output, _ *Job, run *report.Run) error {
			text := run.Output
			run.Output = ""
			return out.perfetto.Add(out.stdout, text)
		},
		finish: func(out *output) error { return out.perfetto.Close(out.stdout) },
	},
	{
		name: "github", text: true, all: true, failures: true, notes: true, summarize: maxTimelines + 1,
		render: (*output).runLine, finish: (*output).writeGitHub,
	},
}

// Formats returns the values of Options.Format.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// formatOf returns a format by its name, or the default format of so many runs.
func formatOf(name string, runs int) *outputFormat {
	switch {
	case name == "" && runs > maxTimelines:
		f := *formatOf("summary", 0)
		f.summarize = maxTimelines + 1
		return &f
	case name == "":
		name = "timeline"
	}
	return formats[slices.IndexFunc(formats, func(f *outputFormat) bool { return f.name == name })]
}

// draw keeps the timeline of a run for the report at the end.
func (m *finished) draw(b *bytes.Buffer, width int) {
	report.Timeline(b, m.run, document.Options{Width: width})
	m.toReport(b)
}

// toReport keeps the text about a run for the report at the end.
func (m *finished) toReport(b *bytes.Buffer) {
	m.run.Output = b.String()
	b.Reset()
}

func (out *output) runLine(b *bytes.Buffer, m *finished, s *Run) {
	if !out.summarizes(s.Job) {
		report.RunLine(b, m.run, out.pad, out.text)
		m.detail = out.detail(m.run)
	}
}

// addTrace writes the trace of a run, and its failures to stderr.
func (out *output) addTrace(j *Job, run *report.Run) error {
	if run.Records != nil {
		if err := writeTrace(out.stdout, j.Plan, run.Records); err != nil {
			return err
		}
	}
	if out.summarizes(j) {
		return nil
	}
	return out.writeFailures(run.Expectations, run.Err)
}

// keepShown drops the text of runs that the report does not show: it shows the first
// unsuccessful run of a case, or the first run.
func (out *output) keepShown(_ *Job, run *report.Run) error {
	switch {
	case out.drawn == nil:
		out.drawn = run
	case out.drawn.Outcome() == report.OK && run.Outcome() != report.OK:
		out.drawn.Output = ""
		out.drawn = run
	default:
		run.Output = ""
	}
	return nil
}

// writeSummary writes how many runs had which outcome.
func (out *output) writeSummary() error {
	if out.emitted == 0 || len(out.jobs) == 1 && len(out.invalid) == 0 {
		return nil
	}
	if len(out.jobs) == 1 && out.format.name == "timeline" {
		fmt.Fprintln(out.stdout)
	}
	return report.Summary(out.stdout, out.cases, out.text)
}

// writeGitHub writes the summary of the log, the annotations, and the summary of the job.
func (out *output) writeGitHub() error {
	err := report.Summary(out.stdout, out.cases, out.text)
	if err == nil {
		err = report.Findings(out.cases).Write(out.commands, "github", actions.Path)
	}
	if err == nil {
		err = actions.Summary(func(w io.Writer) error { return report.Markdown(w, out.cases) })
	}
	if len(out.invalid) > 0 {
		actions.Annotate(out.commands, "invalid scenario file", "nothing was run", out.invalid)
	}
	return err
}
