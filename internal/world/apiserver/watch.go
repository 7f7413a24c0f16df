package apiserver

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// Notice is a change on its way to a watch.
type Notice struct {
	store.Change
	Due virtual.Time // when it arrives
}

// Lag returns how long a change takes to a watch.
type Lag func(watch string, c store.Change) time.Duration

// watcher is a watch of a controller.
type watcher struct {
	name  string
	kind  store.Kind
	lag   Lag
	last  virtual.Time // Due of the last notice
	queue *sim.Chan[Notice]
}

// WatchKind starts a watch of the objects of a kind: the channel receives the objects that exist,
// as Added, and then every change. The receiver waits until each notice is due; a notice never
// overtakes the one before it. An outage of the server does not end the watch.
func (s *Server) WatchKind(name string, kind store.Kind, lag Lag) *sim.Chan[Notice] {
	w := &watcher{name: name, kind: kind, lag: lag, last: s.o.Sim.Now(),
		queue: sim.NewChan[Notice](s.o.Sim, name, watchCapacity)}
	s.watchers = append(s.watchers, w)
	for _, o := range s.store.List(kind) {
		w.send(s.o.Sim.Now(), store.Change{Type: store.Added, Kind: kind, New: o, Version: s.store.Version()})
	}
	return w.queue
}

func (w *watcher) send(now virtual.Time, c store.Change) {
	w.last = max(w.last, now.Add(w.lag(w.name, c)))
	w.queue.TrySend(Notice{Change: c, Due: w.last})
}

// publish sends a change to all watches, with its cause. The kubelet does not see pods that are not
// bound to a node.
func (s *Server) publish(c store.Change, cause int64) {
	if pod, ok := c.New.(*v1.Pod); ok && !s.unbound[pod.UID] {
		s.send(WatchEvent{Type: EventType(c.Type), Pod: pod, Cause: cause})
	}
	s.toControllers(c, cause)
}

// toControllers sends a change to the watches of controllers.
func (s *Server) toControllers(c store.Change, cause int64) {
	if len(s.watchers) == 0 {
		return
	}
	s.o.Sim.WithCause(cause, func() {
		for _, w := range s.watchers {
			if w.kind == c.Kind {
				w.send(s.o.Sim.Now(), c)
			}
		}
	})
}

// bound returns the pods that are bound to a node, by name.
func (s *Server) bound() []*v1.Pod {
	var pods []*v1.Pod
	for _, o := range s.store.List(store.Pods) {
		if pod := o.(*v1.Pod); !s.unbound[pod.UID] {
			pods = append(pods, pod)
		}
	}
	return pods
}
