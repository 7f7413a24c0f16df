// Package cleanup holds the work that a process does before it ends early.
package cleanup

import (
	"sync"
	"time"
)

// Process holds what to do before this process ends early.
var Process = New()

// grace is how long the end of the process waits for work that must not be cut in two.
const grace = 200 * time.Millisecond

// List holds functions to call before the process ends early.
type List struct {
	held chan struct{} // full during work that must not be cut in two

	mu   sync.Mutex
	last int
	list map[int]func()
}

// New returns an empty list.
func New() *List { return &List{held: make(chan struct{}, 1), list: map[int]func(){}} }

// Add adds a function, and returns a function that removes it again. Functions must not wait for
// anything: the process may end because something hangs.
func (l *List) Add(f func()) (remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	number := l.last
	l.list[number] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.list, number)
	}
}

// Hold delays the end of the process, for at most the grace, until the returned function is called.
// It waits forever if the process is ending already.
func (l *List) Hold() (release func()) {
	l.held <- struct{}{}
	return func() { <-l.held }
}

// Run calls the functions, the last one first. Afterwards Hold waits forever.
func (l *List) Run() {
	select {
	case l.held <- struct{}{}:
	case <-time.After(grace):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for number := l.last; number > 0; number-- {
		if f := l.list[number]; f != nil {
			f()
		}
	}
}
