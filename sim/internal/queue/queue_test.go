package queue_test

import (
	"cmp"
	"flag"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/sim/internal/queue"
)

// Each run draws the same examples, unless -rapid.seed says otherwise.
var _ = flag.Set("rapid.seed", "1")

type item struct {
	at    time.Duration
	n     uint64
	place int
}

// Items come out by time and then by number, also when others are taken out in between by the place they
// were told.
func TestTimed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := queue.Timed[*item]{Placed: func(i *item, place int) { i.place = place }}
		var model []*item
		for n := range uint64(rapid.IntRange(0, 60).Draw(t, "steps")) {
			switch do := rapid.IntRange(0, 5).Draw(t, "do"); {
			case do == 0 && len(model) > 0:
				i := rapid.IntRange(0, len(model)-1).Draw(t, "removed")
				if got := q.Remove(model[i].place); got != model[i] || got.place != -1 {
					t.Fatalf("removed %v, want %v", got, model[i])
				}
				model = slices.Delete(model, i, i+1)
			case do == 1 && len(model) > 0:
				until := time.Duration(rapid.IntRange(0, 5).Draw(t, "until"))
				q.PopUntil(until, func(got *item) {
					if len(model) == 0 || got != model[0] || got.at > until || got.place != -1 {
						t.Fatalf("popped %v, want the first of %v until %v", got, model, until)
					}
					model = model[1:]
				})
				if len(model) > 0 && model[0].at <= until {
					t.Fatalf("%v was not popped until %v", model[0], until)
				}
			case do == 2:
				at := time.Duration(rapid.IntRange(0, 5).Draw(t, "dropped"))
				dropped := func(i *item) bool { return i.at == at }
				q.Drop(dropped)
				for _, i := range model {
					if (i.place == -1) != dropped(i) {
						t.Fatalf("%v after those at %v were dropped", i, at)
					}
				}
				model = slices.DeleteFunc(model, dropped)
			default:
				x := &item{at: time.Duration(rapid.IntRange(0, 5).Draw(t, "at")), n: n}
				q.Push(x.at, x.n, x)
				model = append(model, x)
				slices.SortFunc(model, func(a, b *item) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n)) })
			}
			if at, ok := q.Next(); ok != (len(model) > 0) || ok && at != model[0].at {
				t.Fatalf("next is %v %v", at, ok)
			}
		}
	})
}

// A FIFO is a slice whose items can be taken out anywhere.
func TestFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue.FIFO[int]
		var model []int
		for n := range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch do := rapid.IntRange(0, 9).Draw(t, "do"); {
			case do == 0:
				q.Clear()
				model = nil
			case do < 5 && len(model) > 0:
				i := rapid.IntRange(0, len(model)-1).Draw(t, "removed")
				if got := q.Remove(i); got != model[i] {
					t.Fatalf("removed %d, want %d", got, model[i])
				}
				model = slices.Delete(model, i, i+1)
			case do == 6:
				dropped := func(v int) bool { return v%3 == n%3 }
				q.Drop(dropped)
				model = slices.DeleteFunc(model, dropped)
			case do == 5:
				q.PushFront(n)
				model = slices.Insert(model, 0, n)
			default:
				q.Push(n)
				model = append(model, n)
			}
			for i := range model {
				if q.At(i) != model[i] || q.Len() != len(model) {
					t.Fatalf("item %d of %d is %d, want %d of %d", i, q.Len(), q.At(i), model[i], len(model))
				}
			}
		}
	})
}
