// Package pool does much work of the same kind in parallel, and hands on the results in order. A
// command stops it when it exceeds its memory.
package pool

import (
	"cmp"
	"context"
	"runtime"
	"sync"
)

// Options say how much is done at the same time. The zero value uses each CPU.
type Options struct {
	Parallel int // maximum number of calls of work at the same time, up to PerCPU for each CPU; 0: the number of CPUs
	Ahead    int // maximum number of calls of work that start before the first of them is emitted; 0: 4 times Parallel
}

// PerCPU is the maximum of Options.Parallel for each CPU. More runs at the same time are not
// faster, and each run takes memory.
const PerCPU = 4

// limited returns the options with all their values.
func (o Options) limited() Options {
	cpus := runtime.GOMAXPROCS(0)
	o.Parallel = min(cmp.Or(o.Parallel, cpus), PerCPU*cpus)
	o.Ahead = cmp.Or(o.Ahead, 4*o.Parallel)
	return o
}

// task is one call of work.
type task[T any] struct {
	number int
	result chan T
}

// InOrder calls work for 0 to n-1 in parallel, and passes the results to emit in order. When ctx is
// done, InOrder starts no more work and emits the results up to the first missing one. It stops
// when emit returns an error; the context of the work is done then.
func InOrder[T any](ctx context.Context, n int, o Options, work func(context.Context, int) T,
	emit func(int, T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	o = o.limited()
	started := make(chan struct{}, o.Ahead) // started and not yet emitted
	tasks, next := make(chan task[T], o.Ahead), make(chan task[T])
	go deal(ctx, n, started, tasks, next)

	var workers sync.WaitGroup
	for range min(o.Parallel, n) {
		workers.Go(func() {
			for t := range next {
				t.result <- work(ctx, t.number)
			}
		})
	}
	defer workers.Wait()
	defer cancel()
	for t := range tasks {
		r := <-t.result
		<-started
		if err := emit(t.number, r); err != nil {
			return err
		}
	}
	return nil
}

// deal hands the tasks to the workers, and ends when ctx is done.
func deal[T any](ctx context.Context, n int, started chan struct{}, tasks, next chan<- task[T]) {
	defer close(tasks)
	defer close(next)
	for i := range n {
		t := task[T]{i, make(chan T, 1)}
		select {
		case started <- struct{}{}:
		case <-ctx.Done():
			return
		}
		select {
		case next <- t:
			tasks <- t // has room, as started had
		case <-ctx.Done():
			return
		}
	}
}
