// Package coroutine provides a pool of reusable coroutines. Functions that run one after the other on the same coroutine
// share its stack, which stays in the processor caches.
package coroutine

import "iter"

// Pool is a set of coroutines that all run Do, each with its own T.
type Pool[T any] struct {
	Do   func(T) // must be set
	free []*Coroutine[T]
}

// Coroutine runs the Do of its pool with one T after the other.
type Coroutine[T any] struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	of    T
	done  bool
}

// stopped is the panic value that unwinds a coroutine that is stopped while it waits.
type stopped struct{}

// Run resumes the coroutine *c until it waits or until Do returns, and reports whether Do returned. If *c is nil, Run
// takes a coroutine from the pool and starts Do with v. When Do returns, Run sets *c to nil.
func (p *Pool[T]) Run(c **Coroutine[T], v T) (done bool) {
	if *c == nil {
		*c = p.take(v)
	}
	running := *c
	running.next()
	if !running.done {
		return false
	}
	running.of, *c = *new(T), nil
	p.free = append(p.free, running)
	return true
}

func (p *Pool[T]) take(v T) *Coroutine[T] {
	if len(p.free) == 0 {
		p.free = append(p.free, p.start())
	}
	last := len(p.free) - 1
	c := p.free[last]
	p.free = p.free[:last]
	c.of, c.done = v, false
	return c
}

// Close ends the unused coroutines of the pool.
func (p *Pool[T]) Close() {
	for _, c := range p.free {
		c.stop()
	}
	p.free = nil
}

func (p *Pool[T]) start() *Coroutine[T] {
	c := &Coroutine[T]{}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != any(stopped{}) {
				panic(r)
			}
		}()
		growStack(len(p.free))
		for c.yield = yield; ; c.Wait() {
			p.Do(c.of)
			c.done = true
		}
	})
	return c
}

// growStack makes the stack of a new coroutine as large as most functions need, while it is empty. Otherwise it grows in several
// steps, each of which copies the frames of the functions in progress.
//
//go:noinline
func growStack(i int) byte {
	var frame [8 << 10]byte
	return frame[i&(len(frame)-1)] // an index that the compiler does not know keeps the array
}

// Wait returns control to the caller of Run until the next call of Run.
func (c *Coroutine[T]) Wait() {
	if !c.yield(struct{}{}) {
		panic(stopped{})
	}
}

// Stop ends a waiting coroutine and runs its deferred calls. A nil coroutine is allowed.
func (c *Coroutine[T]) Stop() {
	if c != nil {
		c.stop()
	}
}
