package terminal

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"probesim.dev/internal/runner/cleanup"
)

// Line shows a text that changes. On a terminal it updates one line, starting after half a second.
// Elsewhere it prints a line each minute if it logs: some CI systems end jobs that are silent for
// minutes.
type Line struct {
	w        io.Writer
	text     func() string
	terminal bool
	logs     bool

	quiet atomic.Bool
	mu    sync.Mutex
	shown bool
	quit  chan struct{}
	once  sync.Once

	stopCleanUp func()
}

// NewLine returns a line that shows a text on w until Stop. Several goroutines may call the
// function.
func NewLine(w io.Writer, logs bool, text func() string) *Line {
	l := &Line{w: w, text: text, terminal: isTerminal(w), logs: logs, quit: make(chan struct{})}
	if l.terminal {
		l.w, _ = file(w) // which passes the escape sequences that replace a line
	}
	l.stopCleanUp = cleanup.Process.Add(l.erase)
	if l.terminal || logs {
		go l.loop()
	}
	return l
}

func (l *Line) loop() {
	first, next := time.Minute, time.Minute
	if l.terminal {
		first, next = 500*time.Millisecond, 100*time.Millisecond
	}
	tick := time.NewTicker(first)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.show()
			tick.Reset(next)
		case <-l.quit:
			return
		}
	}
}

func (l *Line) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.quit:
		return
	default:
	}
	switch {
	case l.quiet.Load():
	case l.terminal:
		l.shown = true
		fmt.Fprintf(l.w, "\r\x1b[K%s", l.text())
	case l.logs:
		fmt.Fprintf(l.w, "probesim: %s\n", l.text())
	}
}

// Hide removes the line until Resume, while something else is written.
func (l *Line) Hide() {
	l.quiet.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}

// Resume shows the line again.
func (l *Line) Resume() { l.quiet.Store(false) }

// Stop removes the line for good.
func (l *Line) Stop() {
	l.once.Do(func() {
		close(l.quit)
		l.stopCleanUp()
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
}

func (l *Line) clear() {
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.shown = false
	}
}

// erase removes the line before the process ends early. It waits for no other goroutine, because
// that may hang.
func (l *Line) erase() {
	l.quiet.Store(true)
	if !l.terminal || !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	l.clear()
}

// Counter shows on a terminal how many of some things are done.
type Counter struct {
	*Line
	total int
	what  string
	count atomic.Int64
}

// NewCounter returns a counter from 0 to a total, such as "of 3 pods".
func NewCounter(w io.Writer, total int, what string) *Counter {
	c := &Counter{total: total, what: what}
	c.Line = NewLine(w, false, c.String)
	return c
}

// Step counts one more.
func (c *Counter) Step() { c.count.Add(1) }

func (c *Counter) String() string { return fmt.Sprintf("%d of %d %s", c.count.Load(), c.total, c.what) }
