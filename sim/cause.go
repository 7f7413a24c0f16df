package sim

// A cause identifies the reason for the present work, for example by the step of a trace record. It
// travels through the processes like the values of a context. A process passes its cause on to the
// processes that it starts and with the values that it sends. It takes over the cause of each value
// that it receives, and keeps its cause while it waits. Ticks and calls of timers have no cause.
//
// The kernel only carries causes. The packages above it set them and read them.

// Cause returns the cause of the process or the callback that runs now, 0 if there is none.
func (s *Sim) Cause() int64 { return s.cause }

// SetCause sets the cause of the process or the callback that runs now.
func (s *Sim) SetCause(cause int64) { s.cause = cause }

// Cause returns the cause of the process, which must be the one that runs now.
func (p *Proc) Cause() int64 { return p.sim.cause }

// SetCause sets the cause of the process, which must be the one that runs now.
func (p *Proc) SetCause(cause int64) { p.sim.cause = cause }

// caused is a value in a channel with the cause of its sender.
type caused[T any] struct {
	value T
	cause int64
}

// WithCause runs f with a cause, and then restores the cause from before.
func (p *Proc) WithCause(cause int64, f func()) { p.sim.WithCause(cause, f) }

// WithCause runs f with a cause, and then restores the cause from before.
func (s *Sim) WithCause(cause int64, f func()) {
	before := s.cause
	s.cause = cause
	f()
	s.cause = before
}
