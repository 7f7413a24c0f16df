package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"probesim.dev/internal/value"
)

// progress tells on stderr how far long work is: how many runs are done, or of one run how much of its
// virtual time is over. On a terminal it is a line that changes, from half a second on. Elsewhere it is a
// line each minute: enough to tell a long run from one that hangs, and for CI systems that end a job
// which has been silent for some minutes.
type progress struct {
	w        io.Writer
	terminal bool
	total    int
	until    int64 // milliseconds of all runs together, which as nanoseconds might be too many

	now   atomic.Int64 // milliseconds of virtual time of all runs together
	runs  atomic.Int64
	quiet atomic.Bool
	mu    sync.Mutex
	shown bool
	quit  chan struct{}
	once  sync.Once
}

func newProgress(w io.Writer, jobs []*job) *progress {
	p := &progress{w: w, terminal: isTerminal(w), total: len(jobs), quit: make(chan struct{})}
	for _, j := range jobs {
		p.until += j.until.Milliseconds()
	}
	return p
}

func (p *progress) loop() {
	first, next := time.Minute, time.Minute
	if p.terminal {
		first, next = 500*time.Millisecond, 100*time.Millisecond
	}
	tick := time.NewTicker(first)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.show()
			tick.Reset(next)
		case <-p.quit:
			return
		}
	}
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.quit:
		return
	default:
	}
	if p.quiet.Load() {
		return
	}
	if !p.terminal {
		fmt.Fprintf(p.w, "probesim: %s\n", p)
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[K%s", p)
}

func (p *progress) String() string {
	now := p.now.Load()
	if p.total == 1 {
		return value.Format(time.Duration(now)*time.Millisecond) + " of " + value.Format(time.Duration(p.until)*time.Millisecond)
	}
	return fmt.Sprintf("%d of %d runs, %d%% of their virtual time", p.runs.Load(), p.total, 100*now/max(p.until, 1))
}

// virtual returns what notes the virtual time of a run.
func (p *progress) virtual() func(time.Duration) {
	last := int64(0)
	return func(t time.Duration) {
		p.now.Add(t.Milliseconds() - last)
		last = t.Milliseconds()
	}
}

// done notes how many runs are done and makes room for output, until resume.
func (p *progress) done(runs int) {
	p.runs.Store(int64(runs))
	p.quiet.Store(true)
	p.clear()
}

func (p *progress) resume() { p.quiet.Store(false) }

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) stop() {
	p.once.Do(func() { close(p.quit) })
	p.clear()
}
