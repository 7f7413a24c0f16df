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
const patience = 700 * time.Millisecond

// untilInterrupted executes a command. After the first signal, the context of the command is done. If the command has not ended
// after the patience, or at the second signal, untilInterrupted ends it: it cleans up and returns exitInterrupted, and the caller must
// exit.
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
var cleanUp cleanUps

// cleanUps are functions to call before the process ends early. The zero value is empty.
type cleanUps struct {
	mu   sync.Mutex
	last int
	list map[int]func()
}

// add adds a function, and returns a function that removes it again. Functions must not wait for anything: the process may end
// because something hangs.
func (c *cleanUps) add(f func()) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[int]func(){}
	}
	c.last++
	number := c.last
	c.list[number] = f
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.list, number)
	}
}

// run calls the functions, the last one first.
func (c *cleanUps) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number := c.last; number > 0; number-- {
		if f := c.list[number]; f != nil {
			f()
		}
	}
}
