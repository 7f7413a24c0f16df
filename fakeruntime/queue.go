package fakeruntime

import (
	"math"

	"probesim.dev/sim/virtual"
)

// never is later than every other time.
const never virtual.Time = math.MaxInt64

// class is the place of an event in the order of one instant; see the package documentation.
type class uint64

const (
	ends class = iota
	changes
	answers
	reads
	expires
)

// event is the end of a process or of a call. It is embedded in the container or Op.
type event struct {
	process *container // the container whose process ends; nil if op is set
	op      *Op
	expires bool // the deadline of op, not its end
	slot    int  // 1 + index in the queue; 0: not queued
}

// queued is an event with its place in the order: time, then class, then order of scheduling.
type queued struct {
	at   virtual.Time
	rank uint64
	*event
}

func (q queued) before(o queued) bool {
	return q.at < o.at || q.at == o.at && q.rank < o.rank
}

// queue is a binary heap of events. Each event stores its index.
type queue struct {
	heap []queued
	seq  uint64
}

// schedule queues an event for a time, or moves it there. An event at never is not queued.
func (q *queue) schedule(e *event, at virtual.Time, c class) {
	q.cancel(e)
	if at == never {
		return
	}
	q.seq++
	q.heap = append(q.heap, queued{at, uint64(c)<<61 | q.seq, e})
	q.up(len(q.heap) - 1)
}

// cancel removes an event from the queue. An event that is not queued stays so.
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

// next returns the time of the first event.
func (q *queue) next() virtual.Time {
	if len(q.heap) == 0 {
		return never
	}
	return q.heap[0].at
}

// pop removes and returns the first event.
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
