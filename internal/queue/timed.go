package queue

import (
	"slices"

	"probesim.dev/sim/virtual"
)

// Timed is a list by time, and among equal times in the order of Push. An item that does not wait any more stays in it until its
// time, or until it is one of many: to take it out at once, each item would have to be told where it is, and with
// many items the time goes into waiting for memory. For the same reason it is a heap with four children a node, whose
// keys lie side by side.
type Timed[T any] struct {
	// Waits reports whether an item still waits of which Push returned n. It must be set.
	Waits     func(item T, n uint64) bool
	entries   []entry[T]
	pushed    uint64 // how many there were
	forgotten int    // how many do not wait any more
}

type entry[T any] struct {
	at   virtual.Time
	n    uint64
	item T
}

func (e *entry[T]) before(o *entry[T]) bool { return e.at < o.at || e.at == o.at && e.n < o.n }

// Push adds an item that waits for a time, and returns its number: the first is 1.
func (q *Timed[T]) Push(at virtual.Time, item T) uint64 {
	q.pushed++
	q.entries = append(q.entries, entry[T]{at, q.pushed, item})
	q.up(len(q.entries) - 1)
	return q.pushed
}

// Next returns the earliest time that an item waits for, false if there is none.
func (q *Timed[T]) Next() (virtual.Time, bool) {
	for len(q.entries) > 0 && !q.waits(q.entries[0]) {
		q.removeFirst()
		q.forgotten--
	}
	if len(q.entries) == 0 {
		return 0, false
	}
	return q.entries[0].at, true
}

// Due reports whether there is something to Pop at t.
func (q *Timed[T]) Due(t virtual.Time) bool { return len(q.entries) > 0 && q.entries[0].at <= t }

// Pop takes out the first item if its time is not after t, and what does not wait any more.
func (q *Timed[T]) Pop(t virtual.Time) (item T, ok bool) {
	if at, ok := q.Next(); !ok || at > t {
		return item, false
	}
	return q.removeFirst(), true
}

// Forget is told that one of the items does not wait any more.
func (q *Timed[T]) Forget() {
	q.forgotten++
	if q.forgotten > 64 && q.forgotten > len(q.entries)/2 {
		q.Drop(func(T) bool { return false })
	}
}

// Drop takes out the items that f is true of.
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
