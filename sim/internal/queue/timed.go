package queue

import "time"

// Timed is a list by time, and among equal times by number. It is a heap with four children a node,
// whose keys lie side by side: with many items the time goes into waiting for memory.
type Timed[T any] struct {
	// Placed is told where an item is now, -1 once it is not in the list. It must be set.
	Placed  func(item T, place int)
	entries []entry[T]
}

type entry[T any] struct {
	at   time.Duration
	n    uint64
	item T
}

func (e *entry[T]) before(o *entry[T]) bool { return e.at < o.at || e.at == o.at && e.n < o.n }

// Next returns the earliest time, false if the list is empty.
func (q *Timed[T]) Next() (time.Duration, bool) {
	if len(q.entries) == 0 {
		return 0, false
	}
	return q.entries[0].at, true
}

// Push adds an item that waits for a time. Of two with the same time the one with the lower number goes first.
func (q *Timed[T]) Push(at time.Duration, n uint64, item T) {
	q.entries = append(q.entries, entry[T]{at, n, item})
	q.up(len(q.entries) - 1)
}

// PopUntil takes out the items whose time is not after t, first to last, and hands them to f.
func (q *Timed[T]) PopUntil(t time.Duration, f func(T)) {
	for len(q.entries) > 0 && q.entries[0].at <= t {
		f(q.Remove(0))
	}
}

// Drop takes out the items that f is true of.
func (q *Timed[T]) Drop(f func(T) bool) {
	all := q.entries
	q.entries = nil
	for _, e := range all {
		if f(e.item) {
			q.Placed(e.item, -1)
			continue
		}
		q.Push(e.at, e.n, e.item)
	}
}

// Remove takes out the item at a place.
func (q *Timed[T]) Remove(place int) T {
	item, last := q.entries[place].item, len(q.entries)-1
	moved := q.entries[last]
	q.entries[last] = entry[T]{}
	q.entries = q.entries[:last]
	q.Placed(item, -1)
	if place < last {
		q.entries[place] = moved
		if !q.down(place) {
			q.up(place)
		}
	}
	return item
}

func (q *Timed[T]) up(i int) {
	e := q.entries[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&q.entries[parent]) {
			break
		}
		q.entries[i] = q.entries[parent]
		q.Placed(q.entries[i].item, i)
		i = parent
	}
	q.entries[i] = e
	q.Placed(e.item, i)
}

// down reports whether the entry moved.
func (q *Timed[T]) down(i int) bool {
	e, start := q.entries[i], i
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
		q.Placed(q.entries[i].item, i)
		i = least
	}
	q.entries[i] = e
	q.Placed(e.item, i)
	return i > start
}
