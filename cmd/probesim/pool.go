package main

import (
	"context"
	"sync"
)

// inOrder calls work for 0 to n-1 in parallel, and passes the results to emit in order. To bound the number of waiting results,
// no more than ahead calls of work start before the result of the first of them is emitted. When ctx is done, inOrder starts no
// more work and emits the results up to the first missing one. It stops when emit returns an error.
func inOrder[T any](ctx context.Context, n, parallel, ahead int, work func(int) T, emit func(int, T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	results := make([]chan T, n)
	for i := range results {
		results[i] = make(chan T, 1)
	}
	started := make(chan struct{}, ahead) // started and not yet emitted
	next := make(chan int)
	go deal(ctx, n, started, next)

	var workers sync.WaitGroup
	for range min(parallel, n) {
		workers.Go(func() {
			for i := range next {
				results[i] <- work(i)
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
