package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"probesim.dev/scenarios/value"
)

// progress shows on a terminal how far long work is: how many runs are done, or of one run how much of its
// virtual time is over. It says nothing in the first half second, nor elsewhere than on a terminal.
type progress struct {
	w     io.Writer
	total int
	until time.Duration // of the only run

	now   atomic.Int64 // virtual time of the only run
	runs  atomic.Int64
	quiet atomic.Bool
	mu    sync.Mutex
	shown bool
	quit  chan struct{}
	once  sync.Once
}

func startProgress(w io.Writer, jobs []*job) *progress {
	p := &progress{w: w, total: len(jobs), until: jobs[0].until, quit: make(chan struct{})}
	if isTerminal(w) {
		go p.loop()
	}
	return p
}

func (p *progress) loop() {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.show()
			tick.Reset(100 * time.Millisecond)
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
	p.shown = true
	if p.total > 1 {
		fmt.Fprintf(p.w, "\r\x1b[K%d of %d runs", p.runs.Load(), p.total)
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s of %s", value.Format(time.Duration(p.now.Load())), value.Format(p.until))
}

// virtual notes the virtual time of a run.
func (p *progress) virtual(t time.Duration) { p.now.Store(int64(t)) }

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
