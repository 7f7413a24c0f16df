package fakeruntime

import (
	"math"

	"probesim.dev/sim/virtual"
)

// never is later than everything.
const never virtual.Time = math.MaxInt64

// class orders what is due at one instant; see the package documentation.
type class uint64

const (
	ends class = iota
	changes
	answers
	reads
)

// event is something that will happen: the end of a process or a call. It is part of what it happens to.
type event struct {
	process *container // whose process ends; nil if op is set
	op      *Op
	slot    int // 1 + index in the queue, 0 if not queued
}

// queued is an event with its place in the order: time, class and then sequence of scheduling.
type queued struct {
	at   virtual.Time
	rank uint64
	*event
}

func (q queued) before(o queued) bool {
	return q.at < o.at || q.at == o.at && q.rank < o.rank
}

// queue is a binary heap of events whose events know where they are.
type queue struct {
	heap []queued
	seq  uint64
}

// schedule queues e for a time, or moves it there; what is due never is not queued.
func (q *queue) schedule(e *event, at virtual.Time, c class) {
	q.cancel(e)
	if at == never {
		return
	}
	q.seq++
	q.heap = append(q.heap, queued{at, uint64(c)<<61 | q.seq, e})
	q.up(len(q.heap) - 1)
}

// cancel takes e out if it is queued.
func (q *queue) cancel(e *event) {
	if e.slot == 0 {
		return
	}
	i, last := e.slot-1, len(q.heap)-1
	e.slot = 0
	moved := q.heap[last]
	q.heap[last] = queued{}
	q.heap = q.heap[:last]
	if i < last {
		q.put(i, moved)
		q.up(i)
		q.down(moved.slot - 1)
	}
}

// next returns when the first event is due.
func (q *queue) next() virtual.Time {
	if len(q.heap) == 0 {
		return never
	}
	return q.heap[0].at
}

// pop takes out the first event.
func (q *queue) pop() *event {
	e := q.heap[0].event
	q.cancel(e)
	return e
}

func (q *queue) put(i int, e queued) {
	q.heap[i] = e
	e.slot = i + 1
}

func (q *queue) up(i int) {
	e := q.heap[i]
	for i > 0 && e.before(q.heap[(i-1)/2]) {
		q.put(i, q.heap[(i-1)/2])
		i = (i - 1) / 2
	}
	q.put(i, e)
}

func (q *queue) down(i int) {
	e := q.heap[i]
	for {
		child := 2*i + 1
		if child+1 < len(q.heap) && q.heap[child+1].before(q.heap[child]) {
			child++
		}
		if child >= len(q.heap) || !q.heap[child].before(e) {
			break
		}
		q.put(i, q.heap[child])
		i = child
	}
	q.put(i, e)
}
