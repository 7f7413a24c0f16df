package sim

import (
	"slices"

	"probesim.dev/internal/queue"
	"probesim.dev/sim/virtual"
)

// timers are the timers that are set. Nearly all are in a heap. The standing ones are in a list:
// they are so few that a look at each is cheaper than their moves in the heap.
type timers struct {
	queue.Timed[*Timer]
	standing []*Timer
	next     *Timer // the timer that fires next, if it is known
}

func newTimers() timers {
	return timers{Timed: queue.Timed[*Timer]{Waits: func(t *Timer, set uint64) bool {
		return t.set == set && !t.standing
	}}}
}

// push adds a timer, behind the others with its time.
func (q *timers) push(t *Timer) {
	if t.standing {
		t.set = q.Number()
	} else {
		t.set = q.Push(t.at, t)
	}
	if q.next != nil && t.at < q.next.at {
		q.next = t
	}
}

// forget removes a timer.
func (q *timers) forget(t *Timer) {
	if t.set = 0; !t.standing {
		q.Forget()
	}
	if q.next == t {
		q.next = nil
	}
}

// first returns the timer that fires next, nil if none is set.
func (q *timers) first() *Timer {
	if q.next == nil {
		q.next = q.search(nil)
	}
	return q.next
}

// firstBut returns the timer that fires next apart from a standing one, which may be nil.
func (q *timers) firstBut(but *Timer) *Timer {
	if first := q.first(); first != but {
		return first
	}
	return q.search(but)
}

func (q *timers) search(but *Timer) *Timer {
	first, _, _ := q.Next()
	for _, t := range q.standing {
		if t.set > 0 && t != but && (first == nil || t.at < first.at || t.at == first.at && t.set < first.set) {
			first = t
		}
	}
	return first
}

// pop removes and returns the timer that fires next if its time is at or before now, nil otherwise.
func (q *timers) pop(now virtual.Time) *Timer {
	first := q.first()
	if first == nil || first.at > now {
		return nil
	}
	if !first.standing {
		q.Pop(now)
	}
	first.set, q.next = 0, nil
	return first
}

// drop removes the timers for which f returns true.
func (q *timers) drop(f func(*Timer) bool) {
	q.Drop(f)
	q.standing = slices.DeleteFunc(q.standing, f)
	q.next = nil
}
