package runner

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// timeline writes the heading, timeline, events and expectations of a run.
func (out *output) timeline(b *bytes.Buffer, m *finished, s *Run) {
	run := m.run
	document.WriteText(b, out.text, func(d *document.Body) {
		run.AddHeading(d)
		run.From = s.Job.from
		d.Gap()
		d.Picture(document.Picture{Text: func(w io.Writer, o document.Options) error {
			return report.Timeline(w, run, o)
		}})
		run.AddEvents(d)
		d.Gap()
		report.AddChecks(d, run.Expectations)
	})
	nameLoss(b, run, s)
	if run.Err != nil {
		fmt.Fprintf(b, "ERROR    %v\n", run.Err)
	}
	if len(out.jobs) > 1 {
		b.WriteByte('\n')
	}
}

// nameLoss writes the command that explains the greatest loss of requests of a run, if there is
// one.
func nameLoss(w io.Writer, run *report.Run, s *Run) {
	if !slices.ContainsFunc(s.Records, func(r trace.Record) bool {
		return r.Kind == trace.LossStarted || r.Kind == trace.LossEnded
	}) || s.Job.Until != virtual.At(s.Plan.Duration) {
		return // why always runs to the end
	}
	if number := s.Why().GreatestLoss(0); number > 0 {
		fmt.Fprintf(w, "\nRequests are lost: %s --lost %d\n",
			printable.Text(strings.Replace(run.Replay, "probesim run", "probesim why", 1)), number)
	}
}

// detail returns a description of all failures of a run, to write below its line.
func (out *output) detail(run *report.Run) []byte {
	if run.Outcome() != report.Failed {
		return nil
	}
	var b bytes.Buffer
	o := out.text
	o.Margin = 2
	document.WriteText(&b, o, func(d *document.Body) { report.AddFailures(d, run.Expectations) })
	return b.Bytes()
}

// maxDetails is the number of runs of a case whose failures are described in full. For other runs,
// the names of the failed expectations have to do.
const maxDetails = 3

// writeDetail writes why a run failed, unless another run of the case failed in the same way or
// enough runs were described.
func (out *output) writeDetail(m finished) error {
	if len(m.detail) == 0 {
		return nil
	}
	o := out.text
	o.Margin = 2
	if seed, same := out.shown[string(m.detail)]; same {
		text := "  same as before"
		if seed != nil {
			text = fmt.Sprintf("  same as seed %d", *seed)
		}
		_, err := fmt.Fprintln(out.stdout, text)
		return err
	}
	if len(out.shown) == maxDetails {
		return document.WriteText(out.stdout, o, func(d *document.Body) {
			for _, e := range report.FailedOf(m.run.Expectations) {
				mark, style := e.Outcome.Mark()
				d.Item(document.Item{Mark: mark + " ", Style: style, Text: e.Name})
			}
		})
	}
	out.shown[string(m.detail)] = m.run.Seed
	_, err := fmt.Fprintf(out.stdout, "%s  to repeat this run: %s\n", m.detail, printable.Text(m.run.Replay))
	return err
}

// writeNotes writes the notes about a run. All runs of a case have the same notes, so only the
// first one writes them.
func (out *output) writeNotes(run *report.Run, first bool) error {
	if !first || !out.format.notes {
		return nil
	}
	w, o := out.stdout, out.text
	if o.Margin = 2; out.format.trace {
		w, o = out.stderr, document.Options{}
	}
	return document.WriteText(w, o, func(d *document.Body) { report.AddNotes(d, run.Notes) })
}

// writeFailures writes failures to stderr, because stdout has the trace.
func (out *output) writeFailures(expectations []report.Expectation, err error) error {
	if err != nil && err != simulate.ErrInterrupted {
		fmt.Fprintf(out.stderr, "ERROR    %v\n", err)
	}
	return document.WriteText(out.stderr, document.Options{}, func(d *document.Body) {
		report.AddFailures(d, expectations)
	})
}

// stream runs the only job and writes its trace while it runs.
func (out *output) stream(ctx context.Context, j *Job) finished {
	w := newTraceWriter(out.stdout)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	advance := out.progress.Virtual()
	s := j.Simulate(ctx, out.verbose, w.add, func(t virtual.Time) {
		advance(t)
		if w.Flush() != nil {
			cancel() // the reader is gone
		}
	})
	m := finished{run: s.Report(), results: s.Results, err: w.Flush()}
	m.run.Records = nil
	return m
}

// writeTrace writes the trace of one of several runs, with a header before it.
func writeTrace(stdout io.Writer, p *scenarios.Plan, records []trace.Record) error {
	w := newTraceWriter(stdout)
	w.line(trace.AppendHeader(nil,
		&trace.Header{Scenario: p.Scenario.Metadata.Name, Kubernetes: p.Version, Seed: p.Seed,
			File: p.Scenario.File, Line: p.Scenario.Line}))
	for i := range records {
		w.add(&records[i])
	}
	return w.Flush()
}

// traceWriter writes the lines of a trace. Flush returns the first error.
type traceWriter struct {
	*bufio.Writer
	record, text []byte
}

func newTraceWriter(w io.Writer) *traceWriter {
	return &traceWriter{Writer: bufio.NewWriterSize(w, 1<<16)}
}

func (w *traceWriter) add(r *trace.Record) {
	w.record = trace.AppendJSON(w.record[:0], r)
	w.line(w.record)
}

func (w *traceWriter) line(record []byte) {
	w.text = append(printable.JSON(w.text[:0], record), '\n')
	w.Write(w.text)
}
