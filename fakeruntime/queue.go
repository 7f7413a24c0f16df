package fakeruntime

import (
	"cmp"
	"math"
	"slices"

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
	at      virtual.Time
	rank    uint64 // the order at one instant: class, then order of scheduling; 0: not queued
}

func (e *event) compare(o *event) int {
	return cmp.Or(cmp.Compare(e.at, o.at), cmp.Compare(e.rank, o.rank))
}

// queue is a list of events, the last one first.
type queue struct {
	events []*event
	seq    uint64
}

// place returns the index at which an event is in the queue, or belongs.
func (q *queue) place(e *event) int {
	i, _ := slices.BinarySearchFunc(q.events, e, func(a, b *event) int { return b.compare(a) })
	return i
}

// schedule queues an event for a time, or moves it there. An event at never is not queued.
func (q *queue) schedule(e *event, at virtual.Time, c class) {
	q.cancel(e)
	if at != never {
		q.seq++
		e.at, e.rank = at, uint64(c)<<61|q.seq
		q.events = slices.Insert(q.events, q.place(e), e)
	}
}

// cancel removes an event from the queue. An event that is not queued stays so.
func (q *queue) cancel(e *event) {
	if e.rank > 0 {
		i := q.place(e)
		q.events, e.rank = slices.Delete(q.events, i, i+1), 0
	}
}

// next returns the time of the first event.
func (q *queue) next() virtual.Time {
	if len(q.events) == 0 {
		return never
	}
	return q.events[len(q.events)-1].at
}

// pop removes and returns the first event.
func (q *queue) pop() *event {
	e := q.events[len(q.events)-1]
	q.cancel(e)
	return e
}
