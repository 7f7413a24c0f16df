package runner

import (
	"context"
	"fmt"
	"io"
	"slices"

	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
)

// MaxShown is the number of runs of a case that a page or a Perfetto file shows, unless --all-runs
// is set.
const MaxShown = 10

// survey runs the cases that have more runs than the report shows, keeps only their results, and
// chooses the runs to show. Those run again when the report needs their traces, which have the same
// records then: a run takes less time than its part of a report, and much less memory.
func (out *output) survey(ctx context.Context, p pool.Options, all bool) error {
	if all || out.format.large == "" {
		return nil
	}
	var large []*Job
	for _, j := range out.jobs {
		if j.Runs > MaxShown {
			large = append(large, j)
		}
	}
	if len(large) == 0 {
		return nil
	}
	out.page.Some = true
	out.progress = newProgress(out.stderr, large, true)
	defer out.progress.Stop()
	c := &report.Case{}
	var jobs []*Job // of the case
	err := pool.InOrder(ctx, len(large), p, func(ctx context.Context, i int) finished {
		return surveyed(ctx, large[i], out.progress)
	}, func(i int, m finished) error {
		if m.run.Err == simulate.ErrInterrupted {
			return nil
		}
		out.progress.Done(i + 1)
		defer out.progress.Resume()
		j := large[i]
		j.surveyed = &m
		c.Runs, jobs = append(c.Runs, m.run), append(jobs, j)
		if len(c.Runs) == j.Runs {
			chosen := c.Choose(MaxShown)
			for _, j := range jobs {
				j.chosen = slices.Contains(chosen, j.surveyed.run)
			}
			c, jobs = &report.Case{}, nil
		}
		return nil
	})
	if err == nil && ctx.Err() == nil {
		runs := len(out.jobs)
		shown := runs - len(slices.DeleteFunc(slices.Clone(out.jobs), (*Job).shown))
		fmt.Fprintf(out.stderr, "probesim: the %s of %d of %d runs: for scenarios with more than %d, the failed and "+
			"the worst ones; --all-runs includes all\n", out.format.large, shown, runs, MaxShown)
	}
	return err
}

// surveyed runs a job and returns its results without records.
func surveyed(ctx context.Context, j *Job, p *Progress) finished {
	s := j.Simulate(ctx, false, nil, p.Virtual())
	m := finished{run: s.Report(), results: s.Results}
	m.run.Records, m.run.Windows = nil, nil
	for i := range m.run.Expectations {
		e := &m.run.Expectations[i]
		e.More, e.Failures = e.More+len(e.Failures), nil
	}
	for i := range m.results {
		for k := range m.results[i].Failures {
			m.results[i].Failures[k].Around = nil // which refers to records
		}
	}
	return m
}

// shown reports whether the report shows the run of a job, and does not only list it.
func (j *Job) shown() bool { return j.surveyed == nil || j.chosen }

// largeFile is the size of a page or Perfetto file, in bytes, from which the command says how large
// it is.
const largeFile = 20e6

// sizeWriter counts the bytes that it writes.
type sizeWriter struct {
	io.Writer
	bytes int64
}

func (w *sizeWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.bytes += int64(n)
	return n, err
}

// noteSize notes on stderr that a page or Perfetto file is large.
func (out *output) noteSize() {
	if out.size != nil && out.size.bytes >= largeFile {
		fmt.Fprintf(out.stderr, "probesim: the output has %s; fewer runs, a shorter --until or fewer pods make it "+
			"smaller\n", pool.Megabytes(out.size.bytes))
	}
}
