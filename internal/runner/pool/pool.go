// Package pool does much work of the same kind in parallel, within a limit of memory, and hands on the results in order.
package pool

import (
	"cmp"
	"context"
	"runtime"
	"sync"
)

// Options say how much is done at the same time. The zero value uses each CPU and DefaultMemory.
type Options struct {
	Parallel int     // maximum number of calls of work at the same time, up to PerCPU for each CPU; 0: the number of CPUs
	Ahead    int     // maximum number of calls of work that start before the result of the first of them is emitted; 0: 4 times Parallel
	Memory   Memory  // 0: DefaultMemory
	Factor   float64 // memory that a run takes for each byte of its trace; 0: 1
}

// PerCPU is the maximum of Options.Parallel for each CPU. More runs at the same time are not faster, and each run takes memory.
const PerCPU = 4

// limited returns the options with all their values.
func (o Options) limited() Options {
	cpus := runtime.GOMAXPROCS(0)
	o.Parallel = min(cmp.Or(o.Parallel, cpus), PerCPU*cpus)
	o.Ahead, o.Factor = cmp.Or(o.Ahead, 4*o.Parallel), cmp.Or(o.Factor, 1)
	return o
}

// InOrder calls work for 0 to n-1 in parallel, and passes the results to emit in order. The number of a call is that of its
// account, which holds its memory until its result is emitted. When ctx is done, InOrder starts no more work and emits the results
// up to the first missing one. It stops when emit returns an error; the contexts of the accounts are done then.
func InOrder[T any](ctx context.Context, n int, o Options, work func(*Account) T, emit func(int, T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	o = o.limited()
	budget := newBudget(o.Memory)
	budget.factor = o.Factor
	results := make([]chan T, n)
	for i := range results {
		results[i] = make(chan T, 1)
	}
	started := make(chan struct{}, o.Ahead) // started and not yet emitted
	next := make(chan int)
	go deal(ctx, n, started, next)

	var workers sync.WaitGroup
	accounts := make([]*Account, n)
	for i := range accounts {
		accounts[i] = budget.account(ctx, i)
	}
	for range min(o.Parallel, n) {
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
