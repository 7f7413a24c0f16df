package terminal

import (
	"fmt"
	"io"
	"sync/atomic"
)

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
