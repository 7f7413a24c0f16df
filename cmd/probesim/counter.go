package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// counter shows on a terminal how many of some things are done. It starts to do so after a second.
type counter struct {
	w     io.Writer
	total int
	what  string
	text  func() string // instead of the count, unless nil

	mu    sync.Mutex
	count int
	extra string // shown after the count
	shown bool
	quit  chan struct{}

	stopCleanUp func()
}

func newCounter(stderr io.Writer, total int, what string) *counter {
	return (&counter{w: stderr, total: total, what: what}).begin(stderr)
}

// newCounterOf returns a counter that shows a text.
func newCounterOf(stderr io.Writer, text func() string) *counter {
	return (&counter{w: stderr, text: text}).begin(stderr)
}

// begin shows the counter after a second if stderr is a terminal.
func (c *counter) begin(stderr io.Writer) *counter {
	c.quit = make(chan struct{})
	if !isTerminal(stderr) {
		close(c.quit)
		c.stopCleanUp = func() {}
		return c
	}
	c.w, _ = file(stderr) // which passes the escape sequences that replace a line
	c.stopCleanUp = cleanUp.add(c.erase)
	go c.loop()
	return c
}

func (c *counter) loop() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.show()
			tick.Reset(100 * time.Millisecond)
		case <-c.quit:
			return
		}
	}
}

func (c *counter) show() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown = true
	fmt.Fprintf(c.w, "\r\x1b[K%s%s", c.now(), c.extra)
}

// step counts one more.
func (c *counter) step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	c.extra = ""
}

// note shows a text after the count until the next step.
func (c *counter) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.extra = text
}

func (c *counter) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *counter) now() string {
	if c.text != nil {
		return c.text()
	}
	return fmt.Sprintf("%d of %d %s", c.count, c.total, c.what)
}

// stop hides the counter.
func (c *counter) stop() {
	select {
	case <-c.quit:
	default:
		close(c.quit)
		c.erase()
	}
	c.stopCleanUp()
}

func (c *counter) erase() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown {
		fmt.Fprint(c.w, "\r\x1b[K")
	}
	c.shown = false
}
