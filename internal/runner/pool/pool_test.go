package pool

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// TestInOrder checks that results arrive in order, for any parallelism.
func TestInOrder(t *testing.T) {
	for _, parallel := range []int{1, 3, 200} {
		var got []int
		err := InOrder(context.Background(), 100, Options{Parallel: parallel, Ahead: 4 * parallel},
			func(_ context.Context, i int) int {
				return i * i
			}, func(i, square int) error {
				got = append(got, square)
				return nil
			})
		if err != nil || len(got) != 100 || !slices.IsSorted(got) {
			t.Errorf("parallel %d: %v, %v", parallel, got, err)
		}
	}
}

// TestInOrderWaits checks that work starts at most the given number of calls ahead of emit.
func TestInOrderWaits(t *testing.T) {
	var started, emitted atomic.Int64
	err := InOrder(context.Background(), 100, Options{Parallel: 8, Ahead: 3}, func(_ context.Context, i int) int {
		if n := started.Add(1) - emitted.Load(); n > 3+1 { // 1: the result that emit is working on
			t.Errorf("%d calls are in progress", n)
		}
		return i
	}, func(int, int) error {
		emitted.Add(1)
		return nil
	})
	if err != nil || emitted.Load() != 100 {
		t.Errorf("%d results emitted, %v", emitted.Load(), err)
	}
}

// TestInOrderStops checks that an error of emit ends inOrder and its workers.
func TestInOrderStops(t *testing.T) {
	full := errors.New("disk full")
	emitted := 0
	err := InOrder(context.Background(), 1000, Options{Parallel: 2, Ahead: 8}, func(_ context.Context, i int) int {
		return i
	}, func(i, _ int) error {
		emitted++
		if i == 5 {
			return full
		}
		return nil
	})
	if err != full || emitted != 6 {
		t.Errorf("%d results emitted, then %v", emitted, err)
	}
}

// TestInOrderCanceled checks that after a cancellation, the emitted results have no gap.
func TestInOrderCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	next := 0
	err := InOrder(ctx, 1000, Options{Parallel: 4, Ahead: 4}, func(_ context.Context, i int) int {
		return i
	}, func(i, r int) error {
		if i != next || r != next {
			t.Fatalf("got result %d as number %d after %d results", r, i, next)
		}
		next++
		if i == 10 {
			cancel()
		}
		return nil
	})
	if err != nil || next < 11 || next == 1000 {
		t.Errorf("%d results, %v", next, err)
	}
}
