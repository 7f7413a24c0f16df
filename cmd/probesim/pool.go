package main

import (
	"cmp"
	"context"
	"sync"
)

// pool says how much work of a command is done at the same time.
type pool struct {
	parallel int // maximum number of calls of work at the same time
	ahead    int // maximum number of calls of work that start before the result of the first of them is emitted
	memory   memory
	// factor is the memory that a run takes for each byte of its trace. 0 means 1.
	factor float64
}

// inOrder calls work for 0 to n-1 in parallel, and passes the results to emit in order. The number of a call is that of its
// account, which holds its memory until its result is emitted. When ctx is done, inOrder starts no more work and emits the results
// up to the first missing one. It stops when emit returns an error; the contexts of the accounts are done then.
func inOrder[T any](ctx context.Context, n int, p pool, work func(*account) T, emit func(int, T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	budget := newBudget(p.memory)
	budget.factor = cmp.Or(p.factor, 1)
	results := make([]chan T, n)
	for i := range results {
		results[i] = make(chan T, 1)
	}
	started := make(chan struct{}, p.ahead) // started and not yet emitted
	next := make(chan int)
	go deal(ctx, n, started, next)

	var workers sync.WaitGroup
	accounts := make([]*account, n)
	for i := range accounts {
		accounts[i] = budget.account(ctx, i)
	}
	for range min(p.parallel, n) {
		workers.Go(func() {
			for i := range next {
				results[i] <- work(accounts[i])
			}
		})
	}
	finished := make(chan struct{})
	go func() {
		workers.Wait()
		close(finished)
	}()
	defer func() {
		cancel()
		<-finished
	}()
	for i, result := range results {
		r, ok := receive(result, finished)
		if !ok {
			return nil
		}
		<-started
		if err := emit(i, r); err != nil {
			return err
		}
		accounts[i].emitted()
	}
	return nil
}

// deal sends the numbers below n to next, while started has room.
func deal(ctx context.Context, n int, started chan<- struct{}, next chan<- int) {
	defer close(next)
	for i := range n {
		select {
		case started <- struct{}{}:
		case <-ctx.Done():
			return
		}
		select {
		case next <- i:
		case <-ctx.Done():
			return
		}
	}
}

// receive waits for a result. It reports false if all work finished without one.
func receive[T any](result <-chan T, finished <-chan struct{}) (T, bool) {
	select {
	case r := <-result:
		return r, true
	case <-finished:
	}
	select {
	case r := <-result:
		return r, true
	default:
		var none T
		return none, false
	}
}
