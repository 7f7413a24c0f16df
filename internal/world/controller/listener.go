package controller

import (
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim"
)

// The points of the processes of controllers, for choose.Guide.
const (
	TurnEvent  = "event"  // a cache takes a change
	TurnHandle = "handle" // a handler sees it
	TurnSync   = "sync"   // a queue gives a key to a worker
)

// HandlerName returns the name of the process that calls the handler of a controller for the
// changes of a kind.
func HandlerName(queue string, kind store.Kind) string { return queue + " handler of " + string(kind) }

// listener calls a handler. In a real controller it is a goroutine of its own (processorListener in
// tools/cache/shared_informer.go of client-go v0.37.2). It is a process here only if a Guide knows
// its turns; otherwise it runs when the cache changes, because the order of listeners within an
// instant hardly matters.
type listener struct {
	process string // empty: never a process
	wants   func(old, o store.Object) bool
	handle  Handler
	queue   *sim.Chan[update]
}

type update struct {
	old, o store.Object
	cause  int64
}

func (l *listener) notify(s *sim.Sim, old, o store.Object) {
	if l.process == "" || (l.queue == nil || l.queue.Len() == 0) && !s.Places(l.process, TurnHandle) {
		l.handle(old, o)
		return
	}
	if l.queue == nil {
		l.queue = sim.NewChan[update](s, l.process, 1<<12)
		s.Go(l.process, func(p *sim.Proc) { p.Serve(sim.On(l.queue, l.next)) })
	}
	l.queue.TrySend(update{old, o, s.Cause()})
}

// next calls the handler for a change when its turn comes.
func (l *listener) next(p *sim.Proc, u update) {
	p.Yield()
	p.Turn(TurnHandle)
	p.WithCause(u.cause, func() { l.handle(u.old, u.o) })
}
