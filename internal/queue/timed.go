package queue

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// Timed is a list in order of time. Items with equal times keep the order in which they were
// pushed.
//
// An item that no longer waits stays in the list until its time comes, or until too many such items
// pile up. To remove it immediately, each item would need to store its place in the list, and with
// many items these writes would miss the caches. For the same reason, the list is a heap with four
// children per node, whose keys are adjacent in memory.
type Timed[T any] struct {
	// Waits reports whether the item for which Push returned n still waits. It is required.
	Waits     func(item T, n uint64) bool
	entries   []entry[T]
	pushed    uint64 // the number of calls of Push
	forgotten int    // the number of items that no longer wait
}

type entry[T any] struct {
	at   virtual.Time
	n    uint64
	item T
}

func (e *entry[T]) before(o *entry[T]) bool { return e.at < o.at || e.at == o.at && e.n < o.n }

// Number returns a number as Push does, for an item that waits elsewhere: of two items with equal
// times, the one with the lower number is first.
func (q *Timed[T]) Number() uint64 {
	q.pushed++
	return q.pushed
}

// Push adds an item that waits for a time. It returns the number of the item; the first number is
// 1.
func (q *Timed[T]) Push(at virtual.Time, item T) uint64 {
	q.pushed++
	q.entries = append(q.entries, entry[T]{at, q.pushed, item})
	q.up(len(q.entries) - 1)
	return q.pushed
}

// Next returns the first item that waits, and its time. It returns false if no item waits.
func (q *Timed[T]) Next() (item T, at virtual.Time, ok bool) {
	for len(q.entries) > 0 && !q.waits(q.entries[0]) {
		q.removeFirst()
		q.forgotten--
	}
	if len(q.entries) == 0 {
		return item, 0, false
	}
	return q.entries[0].item, q.entries[0].at, true
}

// Pop removes and returns the first waiting item if its time is t or earlier.
func (q *Timed[T]) Pop(t virtual.Time) (item T, ok bool) {
	if _, at, ok := q.Next(); !ok || at > t {
		return item, false
	}
	return q.removeFirst(), true
}

// Forget records that one of the items no longer waits.
func (q *Timed[T]) Forget() {
	q.forgotten++
	if q.forgotten > 64 && q.forgotten > len(q.entries)/2 {
		q.Drop(func(T) bool { return false })
	}
}

// Drop removes the items for which f returns true, and those that no longer wait.
func (q *Timed[T]) Drop(f func(T) bool) {
	q.entries = slices.DeleteFunc(q.entries, func(e entry[T]) bool { return !q.waits(e) || f(e.item) })
	for i := range q.entries {
		q.up(i)
	}
	q.forgotten = 0
}

func (q *Timed[T]) waits(e entry[T]) bool { return q.Waits(e.item, e.n) }

func (q *Timed[T]) removeFirst() T {
	first, last := q.entries[0].item, len(q.entries)-1
	q.entries[0] = q.entries[last]
	q.entries[last] = entry[T]{}
	q.entries = q.entries[:last]
	if last > 0 {
		q.down(0)
	}
	return first
}

func (q *Timed[T]) up(i int) {
	e := q.entries[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&q.entries[parent]) {
			break
		}
		q.entries[i] = q.entries[parent]
		i = parent
	}
	q.entries[i] = e
}

func (q *Timed[T]) down(i int) {
	e := q.entries[i]
	for first := 4*i + 1; first < len(q.entries); first = 4*i + 1 {
		least := first
		for child := first + 1; child < min(first+4, len(q.entries)); child++ {
			if q.entries[child].before(&q.entries[least]) {
				least = child
			}
		}
		if !q.entries[least].before(&e) {
			break
		}
		q.entries[i] = q.entries[least]
		i = least
	}
	q.entries[i] = e
}
