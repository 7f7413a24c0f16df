package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// patience is how long an interrupted command may take to end by itself and to print what it has. Then the process ends.
var patience = 700 * time.Millisecond

// untilInterrupted executes a command. After the first signal, the context of the command is done. If the command has not ended
// after the patience, or at the second signal, untilInterrupted ends it: it cleans up and returns exitInterrupted, and the caller must
// exit the process.
func untilInterrupted(signals <-chan os.Signal, stderr io.Writer, execute func(context.Context) int) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx) }()
	select {
	case code := <-ended:
		return code
	case <-signals:
		cancel()
	}
	select {
	case code := <-ended:
		return code
	case <-signals:
	case <-time.After(patience):
	}
	cleanUp.run()
	fmt.Fprintln(stderr, "probesim: interrupted")
	return exitInterrupted
}

// cleanUp holds what to do before an interrupted process ends.
var cleanUp = newCleanUps()

// grace is how long the end of the process waits for work that must not be cut in two.
const grace = 200 * time.Millisecond

// cleanUps are functions to call before the process ends early.
type cleanUps struct {
	held chan struct{} // full during work that must not be cut in two

	mu   sync.Mutex
	last int
	list map[int]func()
}

func newCleanUps() *cleanUps { return &cleanUps{held: make(chan struct{}, 1), list: map[int]func(){}} }

// add adds a function, and returns a function that removes it again. Functions must not wait for anything: the process may end
// because something hangs.
func (c *cleanUps) add(f func()) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	number := c.last
	c.list[number] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.list, number)
	}
}

// hold delays the end of the process, for at most the grace, until the returned function is called. It waits forever if the process
// is ending already.
func (c *cleanUps) hold() (release func()) {
	c.held <- struct{}{}
	return func() { <-c.held }
}

// run calls the functions, the last one first. Afterwards hold waits forever.
func (c *cleanUps) run() {
	select {
	case c.held <- struct{}{}:
	case <-time.After(grace):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for number := c.last; number > 0; number-- {
		if f := c.list[number]; f != nil {
			f()
		}
	}
}
