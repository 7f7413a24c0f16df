package realkubelet

import (
	"cmp"
	"container/heap"
	"sync"
	"time"
)

// agenda is a queue of functions, ordered by time and then by the order of addition.
type agenda struct {
	mu    sync.Mutex // the innermost lock: its holder takes no other lock
	items items
	added int
}

type item struct {
	t   time.Duration
	seq int
	do  func()
}

func (a *agenda) add(t time.Duration, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.added++
	heap.Push(&a.items, item{t, a.added, do})
}

// next returns the time of the first item, at most until.
func (a *agenda) next(until time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.items) == 0 {
		return until
	}
	return min(until, a.items[0].t)
}

// pop removes and returns the first item if it is due, otherwise nil.
func (a *agenda) pop(now time.Duration) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.items) == 0 || a.items[0].t > now {
		return nil
	}
	return heap.Pop(&a.items).(item).do
}

// items implements heap.Interface.
type items []item

func (s items) Len() int      { return len(s) }
func (s items) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s items) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].t, s[j].t), cmp.Compare(s[i].seq, s[j].seq)) < 0
}
func (s *items) Push(x any) { *s = append(*s, x.(item)) }
func (s *items) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
