package realkubelet

import (
	"slices"
	"sync"

	"probesim.dev/sim/virtual"
)

// agenda is a queue of functions, ordered by time and then by the order of addition.
type agenda struct {
	mu    sync.Mutex // the innermost lock: its holder takes no other lock
	items []item
}

type item struct {
	t  virtual.Time
	do func()
}

func (a *agenda) add(t virtual.Time, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	after, _ := slices.BinarySearchFunc(a.items, t, func(i item, t virtual.Time) int {
		if i.t > t {
			return 1
		}
		return -1
	})
	a.items = slices.Insert(a.items, after, item{t, do})
}

// next returns the time of the first item, at most until.
func (a *agenda) next(until virtual.Time) virtual.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.items) == 0 {
		return until
	}
	return min(until, a.items[0].t)
}

// pop removes and returns the first item if it is due, otherwise nil.
func (a *agenda) pop(now virtual.Time) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.items) == 0 || a.items[0].t > now {
		return nil
	}
	do := a.items[0].do
	a.items = slices.Delete(a.items, 0, 1)
	return do
}
