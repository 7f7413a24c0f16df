package runner

import (
	"fmt"
	"io"
	"slices"

	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/show/report"
)

// MaxShown is the number of runs of a case that a page or a Perfetto file shows, unless --all-runs
// is set.
const MaxShown = 10

// prunes reports whether the report shows only some of the runs of the case of a job.
func (out *output) prunes(j *Job) bool {
	return !out.allRuns && out.format.large != "" && j.Runs > MaxShown
}

// prune keeps the output of some of the runs of a case: those that tell most.
func (out *output) prune(most int) {
	kept := (&report.Case{Runs: out.telling}).Choose(most)
	for _, r := range out.telling {
		if !slices.Contains(kept, r) {
			r.Output = ""
		}
	}
	out.telling = kept
}

// addPruned adds the runs of a case to the report, of which it shows some.
func (out *output) addPruned(c *report.Case) error {
	if out.telling == nil {
		return nil
	}
	out.prune(MaxShown)
	out.left += len(c.Runs) - len(out.telling)
	out.telling, out.page.Some = nil, true
	for _, r := range c.Runs {
		if err := out.format.add(out, nil, r); err != nil {
			return err
		}
	}
	return nil
}

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

// noteSize notes on stderr that a page or Perfetto file leaves runs out, or is large.
func (out *output) noteSize() {
	if out.left > 0 {
		fmt.Fprintf(out.stderr, "probesim: the %s of %d of %d runs: for scenarios with more than %d, the failed and "+
			"the worst ones; --all-runs includes all\n", out.format.large, len(out.jobs)-out.left, len(out.jobs),
			MaxShown)
	}
	if out.size != nil && out.size.bytes >= largeFile {
		fmt.Fprintf(out.stderr, "probesim: the output has %s; fewer runs, a shorter --until or fewer pods make it "+
			"smaller\n", pool.Megabytes(out.size.bytes))
	}
}
