// Package coroutine provides pools of reusable coroutines. Functions that run one after the other
// on the same coroutine share its stack, which stays in the processor caches.
package coroutine

import (
	"iter"
	"runtime"
)

// Pool is a set of coroutines that all run Do, each with its own T.
type Pool[T any] struct {
	Do   func(T) // must be set
	free []*Coroutine[T]
}

// Coroutine runs the Do of its pool with one T after the other.
type Coroutine[T any] struct {
	next func() (struct{}, bool)
	stop func()
	*frame[T]
}

// frame is what a coroutine itself refers to. It does not refer to its Coroutine, so that the end
// of the last reference to that can end the coroutine.
type frame[T any] struct {
	yield  func(struct{}) bool
	do     func(T)
	of     T
	done   bool
	ending bool
}

// stopped is the panic value that unwinds a coroutine that is stopped while it waits.
type stopped struct{}

// Run resumes the coroutine *c until it waits or until Do returns, and reports whether Do returned.
// If *c is nil, Run takes a coroutine from the pool and starts Do with v. When Do returns, Run sets
// *c to nil.
func (p *Pool[T]) Run(c **Coroutine[T], v T) (done bool) {
	if *c == nil {
		*c = p.take(v)
	}
	running := *c
	running.next()
	if !running.done {
		return false
	}
	p.put(c)
	return true
}

// Stop ends the Do of a coroutine that waits, if *c is not nil, and runs its deferred calls. It
// sets *c to nil.
func (p *Pool[T]) Stop(c **Coroutine[T]) {
	if *c == nil {
		return
	}
	(*c).ending = true
	if _, more := (*c).next(); more {
		(*c).ending = false
		p.put(c)
	}
	*c = nil // one whose Do has panicked has ended, and cannot run again
}

// put puts a coroutine whose Do has ended back into the pool.
func (p *Pool[T]) put(c **Coroutine[T]) {
	(*c).of, (*c).do = *new(T), nil
	p.free = append(p.free, *c)
	*c = nil
}

func (p *Pool[T]) take(v T) *Coroutine[T] {
	c := p.unused()
	c.do, c.of, c.done = p.Do, v, false
	return c
}

func (p *Pool[T]) unused() *Coroutine[T] {
	if last := len(p.free) - 1; last >= 0 {
		c := p.free[last]
		p.free = p.free[:last]
		return c
	}
	return start[T]()
}

// Close ends the unused coroutines of the pool.
func (p *Pool[T]) Close() {
	for _, c := range p.free {
		c.stop()
	}
	p.free = nil
}

func start[T any]() *Coroutine[T] {
	f := &frame[T]{}
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		growStack(unknown)
		for {
			f.run()
			if !yield(struct{}{}) {
				return
			}
		}
	})
	c := &Coroutine[T]{next, stop, f}
	runtime.AddCleanup(c, func(stop func()) { stop() }, stop)
	return c
}

// unknown is a number that the compiler does not know.
var unknown int

// run runs Do until it returns or until the coroutine is stopped.
func (f *frame[T]) run() {
	defer func() {
		if r := recover(); r != nil && r != any(stopped{}) {
			panic(r)
		}
	}()
	f.do(f.of)
	f.done = true
}

// growStack makes the stack of a new coroutine as large as most functions need, while it is empty.
// Otherwise it grows in several steps, each of which copies the frames of the functions in
// progress.
//
//go:noinline
func growStack(i int) byte {
	var frame [8 << 10]byte
	return frame[i&(len(frame)-1)] // an index that the compiler does not know keeps the array
}

// Wait returns control to the caller of Run until the next call of Run.
func (c *Coroutine[T]) Wait() {
	if c.ending || !c.yield(struct{}{}) || c.ending {
		panic(stopped{})
	}
}
