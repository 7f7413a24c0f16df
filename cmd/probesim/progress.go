package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
)

// progress reports on stderr how many runs are done, or how much virtual time of a single run has passed. On a terminal it
// updates one line, starting after half a second. Elsewhere it prints a line each minute: some CI systems end jobs that are
// silent for minutes.
type progress struct {
	w        io.Writer
	terminal bool
	silent   bool // show nothing
	total    int
	until    int64 // virtual milliseconds of all runs together; nanoseconds might overflow

	now   atomic.Int64 // virtual milliseconds of all runs so far
	runs  atomic.Int64
	quiet atomic.Bool
	mu    sync.Mutex
	shown bool
	quit  chan struct{}
	once  sync.Once

	stopCleanUp func()
}

func newProgress(w io.Writer, jobs []*job) *progress {
	p := &progress{w: w, terminal: isTerminal(w), total: len(jobs), quit: make(chan struct{})}
	if p.terminal {
		p.w, _ = file(w) // which passes the escape sequences that replace a line
	}
	for _, j := range jobs {
		p.until += j.until.Offset().Milliseconds()
	}
	p.stopCleanUp = cleanUp.add(p.erase)
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
	if p.silent || p.quiet.Load() {
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
	return fmt.Sprintf("%d of %d runs, %d%% of virtual time", p.runs.Load(), p.total, 100*now/max(p.until, 1))
}

// virtual returns a function that records the virtual time of one run.
func (p *progress) virtual() func(virtual.Time) {
	last := int64(0)
	return func(t virtual.Time) {
		p.now.Add(t.Offset().Milliseconds() - last)
		last = t.Offset().Milliseconds()
	}
}

// done records how many runs are done, and hides the progress line until resume.
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

// erase removes the progress line before the process ends early. It waits for no other goroutine, because that may hang.
func (p *progress) erase() {
	p.quiet.Store(true)
	if !p.terminal || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) stop() {
	p.once.Do(func() {
		close(p.quit)
		p.stopCleanUp()
	})
	p.clear()
}
