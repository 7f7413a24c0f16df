package main

import (
	"context"
	"sync"
)

// inOrder works on n things, so many at once, and hands over the results in order. It begins none that is more
// than so many ahead of the first that was not handed over: that bounds the results that wait. When ctx is done it begins nothing new and hands over what is done, up to the
// first that is not. It stops when emit returns an error.
func inOrder[T any](ctx context.Context, n, parallel, most int, work func(int) T, emit func(int, T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	results := make([]chan T, n)
	for i := range results {
		results[i] = make(chan T, 1)
	}
	ahead := make(chan struct{}, most) // begun and not handed over
	next := make(chan int)
	go deal(ctx, n, ahead, next)

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
		<-ahead
		if err := emit(i, r); err != nil {
			return err
		}
	}
	return nil
}

// deal hands out the numbers below n as long as there is room ahead.
func deal(ctx context.Context, n int, ahead chan<- struct{}, next chan<- int) {
	defer close(next)
	for i := range n {
		select {
		case ahead <- struct{}{}:
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

// receive waits for a result, or for the end of all work without one.
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
