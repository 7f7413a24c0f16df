package terminal

import (
	"fmt"
	"io"
	"sync"
)

// Counter shows on a terminal how many of some things are done.
type Counter struct {
	*Line
	total int
	what  string

	mu    sync.Mutex
	count int
	extra string // shown after the count
}

// NewCounter returns a counter from 0 to a total, such as "of 3 pods".
func NewCounter(w io.Writer, total int, what string) *Counter {
	c := &Counter{total: total, what: what}
	c.Line = NewLine(w, false, func() string {
		text := c.String()
		c.mu.Lock()
		defer c.mu.Unlock()
		return text + c.extra
	})
	return c
}

// Step counts one more.
func (c *Counter) Step() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	c.extra = ""
}

// Note shows a text after the count until the next step.
func (c *Counter) Note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.extra = text
}

func (c *Counter) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d of %d %s", c.count, c.total, c.what)
}
