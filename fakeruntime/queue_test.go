package fakeruntime

import (
	"testing"

	"pgregory.net/rapid"

	"probesim.dev/sim/virtual"
)

// The queue returns events by time, class and order of scheduling, after any moves and
// cancellations.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		due := map[*event]event{} // the model: an unordered set
		events := make([]event, 12)
		for turn := range uint64(200) {
			e := &events[rapid.IntRange(0, len(events)-1).Draw(t, "event")]
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				q.cancel(e)
				delete(due, e)
			case 1:
				if len(due) > 0 {
					first, got := earliest(due), q.pop()
					if due[got].at != first.at || due[got].rank != first.rank {
						t.Fatalf("got the event at %v, want the event at %v", due[got].at, first.at)
					}
					delete(due, got)
				}
			case 2:
				q.schedule(e, never, ends)
				delete(due, e)
			default:
				at, c := virtual.Time(rapid.IntRange(0, 9).Draw(t, "at")), class(rapid.IntRange(0, 3).Draw(t, "class"))
				q.schedule(e, at, c)
				due[e] = event{at: at, rank: uint64(c)<<32 | turn}
			}
			if want := earliest(due); q.next() != want.at {
				t.Fatalf("next is %v, want %v", q.next(), want.at)
			}
		}
	})
}

func earliest(due map[*event]event) event {
	first := event{at: never}
	for _, e := range due {
		if e.before(&first) {
			first = e
		}
	}
	return first
}
