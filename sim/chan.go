package sim

import "probesim.dev/internal/queue"

// Chan is a buffered channel between processes. Only one process at a time may receive from it. As
// in Go, a value that is sent while the receiver waits goes directly to the receiver and takes no
// room in the buffer.
type Chan[T any] struct {
	waiter  *Proc // the receiver: it waits now, or is about to wait again
	index   int32 // the index of the channel's case in the receiver's Select
	cap     int32
	buf     queue.FIFO[caused[T]]
	got     T
	senders queue.FIFO[sender[T]]
	sim     *Sim
	name    string
}

type sender[T any] struct {
	proc  *Proc
	value T
}

// Case is a channel that a Select waits for, with the handler of its values. On and OnTick return
// cases. Build the cases of a process once and reuse the slice: this saves allocations at each
// Select.
type Case struct {
	channel receivable
	handle  func(*Proc) // nil: the value stays in the channel's got
}

// receivable is a Chan of any type.
type receivable interface {
	Len() int
	take() bool
	setReceiver(p *Proc, index int)
	label() string
}

// On returns the case that receives a value from c. The handler gets the value, and may wait.
func On[T any](c *Chan[T], handler func(*Proc, T)) Case {
	return Case{c, func(p *Proc) { handler(p, c.received()) }}
}

// OnTick returns the case that receives a tick of t.
func OnTick(t *Ticker, handler func(*Proc)) Case { return Case{&t.C, handler} }

// NewChan returns a channel whose buffer holds capacity values. The capacity must be at least 1.
func NewChan[T any](s *Sim, name string, capacity int) *Chan[T] {
	return &Chan[T]{sim: s, name: name, cap: int32(capacity)}
}

func (c *Chan[T]) label() string { return c.name }

// Len returns the number of values in the buffer.
func (c *Chan[T]) Len() int { return c.buf.Len() }

// TrySend sends v if the receiver waits or the buffer has room. It reports whether it sent v.
func (c *Chan[T]) TrySend(v T) bool {
	if p := c.waiter; c.Awaited() {
		c.got, p.woken, p.open = v, c.index, false
		p.cause = c.sim.cause
		p.Wake()
		return true
	}
	if c.buf.Len() == int(c.cap) {
		return false
	}
	c.buf.Push(caused[T]{v, c.sim.cause})
	if c.waiter != nil {
		c.waiter.sent = true
	}
	return true
}

// Send sends v. It waits while the buffer is full.
func (c *Chan[T]) Send(p *Proc, v T) {
	if !c.TrySend(v) {
		c.senders.Push(sender[T]{p, v})
		p.Park()
	}
}

// Recv waits for a value and returns it.
func (c *Chan[T]) Recv(p *Proc) T {
	p.Select(Case{channel: c})
	return c.received()
}

// TryRecv receives a value if the buffer has one.
func (c *Chan[T]) TryRecv() (T, bool) {
	ok := c.take()
	return c.received(), ok
}

// received returns the value that take or a sender left in got.
func (c *Chan[T]) received() T {
	v := c.got
	c.got = *new(T)
	return v
}

// take moves the first value of the buffer to got and unblocks the first blocked sender.
func (c *Chan[T]) take() bool {
	if c.buf.Len() == 0 {
		return false
	}
	first := c.buf.Remove(0)
	c.got, c.sim.cause = first.value, first.cause
	if c.senders.Len() > 0 {
		s := c.senders.Remove(0)
		c.buf.Push(caused[T]{s.value, s.proc.cause})
		s.proc.Wake()
	}
	return true
}

// setReceiver makes p the process that receives, as the case with this index of its Select. A nil p
// removes the present receiver.
func (c *Chan[T]) setReceiver(p *Proc, index int) {
	if c.waiter != nil && p != nil {
		panic("sim: " + p.Name() + " and " + c.waiter.Name() + " both receive from " + c.name)
	}
	c.waiter, c.index = p, int32(index)
}

// Awaited reports whether the receiver waits, so that a value that is sent now goes directly to it.
func (c *Chan[T]) Awaited() bool { return c.waiter != nil && c.waiter.open }
