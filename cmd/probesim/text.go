package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"probesim.dev/report"
	"probesim.dev/trace"
)

// timeline writes everything that people want to see of one run.
func (out *output) timeline(b *bytes.Buffer, run *report.Run, s *simulation) {
	report.Heading(b, run, out.text)
	var parts [3]bytes.Buffer
	report.Timeline(&parts[0], run, out.text)
	report.Events(&parts[1], run, out.text)
	report.Checks(&parts[2], run.Expectations, out.text)
	for i := range parts {
		if parts[i].Len() > 0 {
			b.WriteByte('\n')
			parts[i].WriteTo(b)
		}
	}
	if run.Err != nil {
		fmt.Fprintf(b, "ERROR    %v\n", run.Err)
	}
	if len(out.jobs) > 1 {
		b.WriteByte('\n')
	}
}

// detail is everything about what failed in a run, to stand below its line.
func (out *output) detail(run *report.Run) []byte {
	if run.Outcome() != report.Failed {
		return nil
	}
	var b bytes.Buffer
	o := out.text
	o.Indent = 2
	report.Failures(&b, run.Expectations, o)
	return b.Bytes()
}

// maxTold is how many runs of a case are told in full why they failed. Of the others it is said what did.
const maxTold = 3

// tell writes why a run failed, unless that was told of another of the case or enough was told of it.
func (out *output) tell(m made) error {
	if len(m.detail) == 0 {
		return nil
	}
	o := out.text
	o.Indent = 2
	if seed, same := out.told[string(m.detail)]; same {
		_, err := fmt.Fprintf(out.stdout, "  as with seed %d\n", *seed)
		return err
	}
	if len(out.told) == maxTold {
		return report.FailedNames(out.stdout, m.run.Expectations, o)
	}
	out.told[string(m.detail)] = m.run.Seed
	_, err := fmt.Fprintf(out.stdout, "%s  run it again with: %s\n", m.detail, m.run.Replay)
	return err
}

// explain says on stderr what failed, where stdout has a trace.
func (out *output) explain(expectations []report.Expectation, err error, replay string) error {
	if err != nil && err != errInterrupted {
		fmt.Fprintf(out.stderr, "ERROR    %v\n", err)
	}
	return report.Failures(out.stderr, expectations, report.Options{})
}

// stream makes the only run and writes its trace as it goes.
func (out *output) stream(ctx context.Context, j *job) made {
	w := bufio.NewWriterSize(out.stdout, 1<<16)
	var line []byte
	var failed error
	sink := func(r *trace.Record) {
		line = append(trace.AppendJSON(line[:0], r), '\n')
		if _, err := w.Write(line); err != nil && failed == nil {
			failed = err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	virtual := out.progress.virtual()
	s := j.simulate(ctx, out.verbose, sink, func(t time.Duration) {
		virtual(t)
		if err := w.Flush(); err != nil {
			failed = err
			cancel() // nobody reads it
		}
	})
	if failed == nil {
		failed = w.Flush()
	}
	m := made{run: s.report(), results: s.results, err: failed}
	m.run.Records = nil
	return m
}

// writeTrace writes the trace of a run, with a header before it where there are several.
func writeTrace(w io.Writer, s *simulation, header bool) {
	var line []byte
	if header {
		p := s.job.plan
		line = trace.AppendHeader(line, &trace.Header{Scenario: p.Scenario.Metadata.Name, Kubernetes: p.Version, Seed: p.Seed,
			File: p.Scenario.File, Line: p.Scenario.Line})
		w.Write(append(line, '\n'))
	}
	for i := range s.records {
		line = append(trace.AppendJSON(line[:0], &s.records[i]), '\n')
		w.Write(line)
	}
}
