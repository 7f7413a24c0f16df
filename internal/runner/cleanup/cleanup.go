// Package cleanup holds the work that a process does before it ends early.
package cleanup

import "sync"

// Process holds what to do before this process ends early.
var Process = New()

// List holds functions to call before the process ends early.
type List struct {
	mu   sync.Mutex
	last int
	list map[int]func()
}

// New returns an empty list.
func New() *List { return &List{list: map[int]func(){}} }

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

// Run calls the functions, the last one first.
func (l *List) Run() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for number := l.last; number > 0; number-- {
		if f := l.list[number]; f != nil {
			f()
		}
	}
}
