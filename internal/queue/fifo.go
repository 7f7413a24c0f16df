// Package queue holds the two lists that the kernel is made of: first in, first out, and by time.
package queue

import "slices"

// FIFO is a first-in-first-out list from which any item can be taken. The zero value is empty.
type FIFO[T any] struct {
	items []T
	head  int
}

// Len returns how many items there are.
func (q *FIFO[T]) Len() int { return len(q.items) - q.head }

// At returns item i, the longest waiting being 0.
func (q *FIFO[T]) At(i int) T { return q.items[q.head+i] }

// Push adds an item at the end.
func (q *FIFO[T]) Push(v T) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		q.reuse()
	}
	q.items = append(q.items, v)
}

// PushFront adds an item before all others.
func (q *FIFO[T]) PushFront(v T) {
	if q.Len() == 0 {
		q.Push(v)
		return
	}
	if q.head == 0 {
		q.items = slices.Insert(q.items, 0, v)
		return
	}
	q.head--
	q.items[q.head] = v
}

// reuse makes room where items were taken out: a list that is never empty must not grow for ever.
func (q *FIFO[T]) reuse() {
	n := copy(q.items, q.items[q.head:])
	clear(q.items[n:])
	q.items, q.head = q.items[:n], 0
}

// Clear takes out all items.
func (q *FIFO[T]) Clear() {
	clear(q.items)
	q.items, q.head = q.items[:0], 0
}

// Drop takes out the items that f is true of and keeps the order of the others.
func (q *FIFO[T]) Drop(f func(T) bool) {
	if q.Len() == 0 {
		return
	}
	q.items = q.items[:q.head+len(slices.DeleteFunc(q.items[q.head:], f))]
}

// Remove takes out item i and keeps the order of the others.
func (q *FIFO[T]) Remove(i int) T {
	v := q.items[q.head+i]
	copy(q.items[q.head+1:], q.items[q.head:q.head+i])
	var none T
	q.items[q.head] = none
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}
