package controller

import (
	"slices"

	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim"
)

// Informers are the caches of one component, such as the controller manager, one for each kind of
// objects (informers/factory.go of client-go v0.37.0). Controllers in a component share them.
type Informers struct {
	env       *Env
	component string
	kinds     map[store.Kind]*Informer
}

// NewInformers returns the caches of a component.
func NewInformers(env *Env, component string) *Informers {
	return &Informers{env: env, component: component, kinds: map[store.Kind]*Informer{}}
}

// Of returns the cache of a kind, and starts its watch when it is asked for first.
func (f *Informers) Of(kind store.Kind) *Informer {
	if i := f.kinds[kind]; i != nil {
		return i
	}
	i := &Informer{sim: f.env.Sim, kind: kind, objects: map[string]store.Object{}}
	f.kinds[kind] = i
	name := f.component + " watch of " + string(kind)
	queue := f.env.API.WatchKind(name, kind, f.env.Delays.Watch)
	f.env.Sim.Go(name, func(p *sim.Proc) { p.Serve(sim.On(queue, i.receive)) })
	return i
}

// Informer is a cache of the objects of a kind, which lags behind the API server. You may keep its
// objects, and must not change them.
type Informer struct {
	sim      *sim.Sim
	kind     store.Kind
	objects  map[string]store.Object
	keys     []string // of the objects, in order
	version  int64
	handlers []*listener
}

// Handler is called when a cache has changed: with nil and the object when one is added, with both
// when it changes, and with its last state and nil when it is deleted. It must not wait.
type Handler func(old, o store.Object)

// Either returns the object of a change: a deleted one in its last state.
func Either(old, o store.Object) store.Object {
	if o == nil {
		return old
	}
	return o
}

// Handle adds a handler, which is called with the change of the cache. Handlers are called in the
// order in which they are added.
func (i *Informer) Handle(h Handler) { i.handlers = append(i.handlers, &listener{handle: h}) }

// HandleFor adds a handler of a controller with a queue of that name. It gets the changes that it
// wants, all if wants is nil. The real cache changes before its handlers see that, so a sync can
// see a change before its key is queued because of it.
func (i *Informer) HandleFor(queue string, wants func(old, o store.Object) bool, h Handler) {
	i.handlers = append(i.handlers, &listener{process: HandlerName(queue, i.kind), wants: wants, handle: h})
}

// receive applies a change when it is due, and calls the handlers. Of several changes at one
// instant, each comes after what the controllers begin because of the one before, as with the real
// caches: a sync can see a part of them.
func (i *Informer) receive(p *sim.Proc, n apiserver.Notice) {
	if n.Due > p.Now() {
		p.Sleep(n.Due.Sub(p.Now()))
	} else {
		p.Yield()
	}
	p.Turn(TurnEvent)
	key := store.Key(n.New)
	old, o := i.objects[key], n.New
	i.version = n.Version
	at, known := slices.BinarySearch(i.keys, key)
	switch {
	case n.Type != store.Deleted && !known:
		i.keys = slices.Insert(i.keys, at, key)
	case n.Type == store.Deleted && known:
		i.keys = slices.Delete(i.keys, at, at+1)
	}
	if n.Type == store.Deleted {
		delete(i.objects, key)
		old, o = o, nil
	} else {
		i.objects[key] = o
	}
	p.Preempt("handlers")
	for _, l := range i.handlers {
		if l.wants == nil || l.wants(old, o) {
			l.notify(i.sim, old, o)
		}
	}
}

// Version returns the resource version of the last change that the cache has seen
// (LastStoreSyncResourceVersion in tools/cache/store.go of client-go v0.37.0).
func (i *Informer) Version() int64 { return i.version }

// Get returns a cached object by its kind's type and its key. It returns false if there is none.
func Get[T store.Object](i *Informer, key string) (T, bool) {
	o, ok := i.objects[key].(T)
	return o, ok
}

// List returns the cached objects that satisfy a condition, by key.
func List[T store.Object](i *Informer, wanted func(T) bool) []T {
	var list []T
	for _, key := range i.keys {
		if o, ok := i.objects[key].(T); ok && wanted(o) {
			list = append(list, o)
		}
	}
	return list
}

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
