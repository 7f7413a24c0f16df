package runner

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
)

// Progress shows how many runs are done, or how much virtual time of a single run has passed.
type Progress struct {
	*terminal.Line
	total int
	until int64 // virtual milliseconds of all runs together; nanoseconds might overflow

	now  atomic.Int64 // virtual milliseconds of all runs so far
	runs atomic.Int64
}

// NewProgress returns the progress of jobs. It shows itself until Stop. It logs if w is not a
// terminal.
func NewProgress(w io.Writer, jobs []*Job) *Progress { return newProgress(w, jobs, true) }

func newProgress(w io.Writer, jobs []*Job, logs bool) *Progress {
	p := &Progress{total: len(jobs)}
	for _, j := range jobs {
		p.until += j.Until.Offset().Milliseconds()
	}
	p.Line = terminal.NewLine(w, logs, p.String)
	return p
}

func (p *Progress) String() string {
	now := p.now.Load()
	if p.total == 1 {
		return value.Format(time.Duration(now)*time.Millisecond) + " of " +
			value.Format(time.Duration(p.until)*time.Millisecond)
	}
	return fmt.Sprintf("%d of %d runs, %d%% of virtual time", p.runs.Load(), p.total, 100*now/max(p.until, 1))
}

// Virtual returns a function that records the virtual time of one run.
func (p *Progress) Virtual() func(virtual.Time) {
	last := int64(0)
	return func(t virtual.Time) {
		p.now.Add(t.Offset().Milliseconds() - last)
		last = t.Offset().Milliseconds()
	}
}

// Count records how many runs are done.
func (p *Progress) Count(runs int) { p.runs.Store(int64(runs)) }

// Done records how many runs are done, and hides the progress until Resume.
func (p *Progress) Done(runs int) {
	p.Count(runs)
	p.Hide()
}
