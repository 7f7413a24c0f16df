// Package coroutine lends coroutines: what is done on one after the other shares its stack, which is in the caches
// of the processor then.
package coroutine

import "iter"

// Pool has coroutines that do one thing, each with a T of its own.
type Pool[T any] struct {
	Do   func(T) // must be set
	free []*Coroutine[T]
}

// Coroutine does the thing with one T, and then with another.
type Coroutine[T any] struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	of    T
	done  bool
}

// stopped unwinds a coroutine that is stopped while it waits.
type stopped struct{}

// Run has the coroutine at c go on until it waits or is done, and reports whether it is done. If c is nil, one
// begins to do the thing with v; when it is done, c is nil again.
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

// Close ends the coroutines that are not taken.
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
		for c.yield = yield; ; c.Wait() {
			p.Do(c.of)
			c.done = true
		}
	})
	return c
}

// Wait returns to the caller of Run, until the next one.
func (c *Coroutine[T]) Wait() {
	if !c.yield(struct{}{}) {
		panic(stopped{})
	}
}

// Stop ends a coroutine that waits. Its deferred calls run. Nil has nothing to end.
func (c *Coroutine[T]) Stop() {
	if c != nil {
		c.stop()
	}
}
