package queue_test

import (
	"cmp"
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"probesim.dev/internal/queue"
	"probesim.dev/sim/virtual"
)

// Each run draws the same examples, unless -rapid.seed says otherwise.
var _ = flag.Set("rapid.seed", "1")

type item struct {
	at virtual.Time
	n  uint64 // the number from Push; 0: the item does not wait
}

// Pop returns items in the order of their times, and at equal times in the order of Push, even if
// other items stop waiting.
func TestTimed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := queue.Timed[*item]{Waits: func(i *item, n uint64) bool { return i.n == n }}
		var model []*item
		push := func(x *item) {
			x.n = q.Push(x.at, x)
			model = append(model, x)
			slices.SortFunc(model,
				func(a, b *item) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n)) })
		}
		forget := func() *item {
			i := rapid.IntRange(0, len(model)-1).Draw(t, "forgotten")
			x := model[i]
			model = slices.Delete(model, i, i+1)
			x.n = 0
			q.Forget()
			return x
		}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			switch do := rapid.IntRange(0, 7).Draw(t, "do"); {
			case do == 0 && len(model) > 0:
				forget()
				if n := q.Number(); slices.ContainsFunc(model, func(x *item) bool { return x.n >= n }) {
					t.Fatalf("the number %d is not greater than those of earlier items", n)
				}
			case do < 4 && len(model) > 0:
				again := forget()
				again.at = virtual.Time(rapid.IntRange(0, 5).Draw(t, "again at"))
				push(again)
			case do == 4:
				until := virtual.Time(rapid.IntRange(0, 5).Draw(t, "until"))
				got, ok := q.Pop(until)
				if want := len(model) > 0 && model[0].at <= until; ok != want || ok && got != model[0] {
					t.Fatalf("popped %v, %v, want the first of %v until %v", got, ok, model, until)
				}
				if ok {
					model = model[1:]
				}
			case do == 5:
				at := virtual.Time(rapid.IntRange(0, 5).Draw(t, "dropped"))
				dropped := func(i *item) bool { return i.at == at }
				q.Drop(dropped)
				model = slices.DeleteFunc(model, dropped)
			default:
				push(&item{at: virtual.Time(rapid.IntRange(0, 5).Draw(t, "at"))})
			}
			if first, at, ok := q.Next(); ok != (len(model) > 0) || ok && (first != model[0] || at != first.at) {
				t.Fatalf("next is %v at %v, %v", first, at, ok)
			}
		}
	})
}

// A FIFO behaves like a slice from which any item can be removed.
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
