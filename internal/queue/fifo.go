// Package queue provides the two lists of the kernel: FIFO, in order of insertion, and Timed, in
// order of time.
package queue

import "slices"

// FIFO is a first-in-first-out list that also allows the removal of any item. The zero value is
// empty.
type FIFO[T any] struct {
	items []T
	head  int
}

// Len returns the number of items.
func (q *FIFO[T]) Len() int { return len(q.items) - q.head }

// At returns item i. Item 0 is the oldest.
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

// reuse moves the items to the beginning of the slice. Otherwise a list that is never empty would
// grow forever.
func (q *FIFO[T]) reuse() {
	n := copy(q.items, q.items[q.head:])
	clear(q.items[n:])
	q.items, q.head = q.items[:n], 0
}

// Clear removes all items.
func (q *FIFO[T]) Clear() {
	clear(q.items)
	q.items, q.head = q.items[:0], 0
}

// Drop removes the items for which f returns true and keeps the order of the others.
func (q *FIFO[T]) Drop(f func(T) bool) {
	if q.Len() == 0 {
		return
	}
	q.items = q.items[:q.head+len(slices.DeleteFunc(q.items[q.head:], f))]
}

// Remove removes and returns item i and keeps the order of the others.
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
