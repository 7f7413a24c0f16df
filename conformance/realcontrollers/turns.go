package realcontrollers

import (
	"runtime"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
)

// Turns is the log of what the goroutines of the real controllers do, in its order: a cache takes a
// change, a handler sees it, a sync begins, a call reaches the API server. The simulator's
// processes have the same names, and take the same order within an instant. The controllers are
// unmodified: the log comes from their indexes, listers and handlers, which callers of client-go
// may extend, and from their requests.
type Turns struct {
	Add func(process, point string) // adds a turn of now

	mu       sync.Mutex
	handling map[string]bool // goroutines that run a handler
}

// newTurns returns a log that calls a function with each turn.
func newTurns(add func(process, point string)) *Turns {
	return &Turns{Add: add, handling: map[string]bool{}}
}

// watch logs the changes that a cache takes. The cache calls an index for the old and for the new
// state of an object, under its lock.
func (l *Turns) watch(i cache.SharedIndexInformer, process string) {
	known, replaced := map[string]any{}, map[string]bool{}
	_ = i.AddIndexers(cache.Indexers{"turns": func(o any) ([]string, error) {
		key, _ := cache.MetaNamespaceKeyFunc(o)
		switch {
		case known[key] == o: // the old state
			replaced[key] = true
			l.Add(process, controller.TurnEvent)
		case replaced[key]:
			known[key], replaced[key] = o, false
		default:
			known[key] = o
			l.Add(process, controller.TurnEvent)
		}
		return nil, nil
	}})
}

// syncing logs that a worker begins a sync. Handlers read the caches too, and are no workers.
func (l *Turns) syncing(process string) {
	l.mu.Lock()
	handles := l.handling[goroutine()]
	l.mu.Unlock()
	if !handles {
		l.Add(process, controller.TurnSync)
	}
}

// goroutine returns the number of the present goroutine.
func goroutine() string {
	var text [64]byte
	return strings.Fields(string(text[:runtime.Stack(text[:], false)]))[1]
}

// handlers is an informer whose handlers log when they are called.
type handlers struct {
	cache.SharedIndexInformer
	turns   *Turns
	process string // empty: they log nothing
}

func (i handlers) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(handler{h, i.turns, i.process})
}

type handler struct {
	of      cache.ResourceEventHandler
	turns   *Turns
	process string
}

func (h handler) call(f func()) {
	me := goroutine()
	mark := func(on bool) {
		h.turns.mu.Lock()
		defer h.turns.mu.Unlock()
		h.turns.handling[me] = on
	}
	mark(true)
	defer mark(false)
	if h.process != "" {
		h.turns.Add(h.process, controller.TurnHandle)
	}
	f()
}

func (h handler) OnAdd(o any, initial bool) { h.call(func() { h.of.OnAdd(o, initial) }) }
func (h handler) OnUpdate(old, o any)       { h.call(func() { h.of.OnUpdate(old, o) }) }
func (h handler) OnDelete(o any)            { h.call(func() { h.of.OnDelete(o) }) }

// informer is an informer of a controller, whose handlers log turns.
type informer[L any] struct {
	handlers handlers
	lister   L
}

func (i informer[L]) Informer() cache.SharedIndexInformer { return i.handlers }
func (i informer[L]) Lister() L                           { return i.lister }

// watched returns an informer for the controller with a queue.
func watched[L any](l *Turns, of interface {
	Informer() cache.SharedIndexInformer
	Lister() L
}, queue string, kind store.Kind) informer[L] {
	return informer[L]{handlers{of.Informer(), l, controller.HandlerName(queue, kind)}, of.Lister()}
}

// lister lists the objects of a namespace.
type lister[T any] interface {
	List(labels.Selector) ([]*T, error)
	Get(name string) (*T, error)
}

// synced is a lister from which workers get the object that they sync.
type synced[T any] struct {
	lister[T]
	turns            *Turns
	queue, namespace string
}

// Get logs that a worker begins a sync.
func (s synced[T]) Get(name string) (*T, error) {
	s.turns.syncing(s.queue + " " + s.namespace + "/" + name)
	return s.lister.Get(name)
}

// The listers of the objects that the controllers sync.

type deploymentLister struct {
	appslisters.DeploymentLister
	turns *Turns
}

func (l deploymentLister) Deployments(namespace string) appslisters.DeploymentNamespaceLister {
	return synced[appsv1.Deployment]{l.DeploymentLister.Deployments(namespace), l.turns, "deployment", namespace}
}

type replicaSetLister struct {
	appslisters.ReplicaSetLister
	turns *Turns
}

func (l replicaSetLister) ReplicaSets(namespace string) appslisters.ReplicaSetNamespaceLister {
	return synced[appsv1.ReplicaSet]{l.ReplicaSetLister.ReplicaSets(namespace), l.turns, "replicaset", namespace}
}

type serviceLister struct {
	corelisters.ServiceLister
	turns *Turns
}

func (l serviceLister) Services(namespace string) corelisters.ServiceNamespaceLister {
	return services{synced[v1.Service]{l.ServiceLister.Services(namespace), l.turns, "endpointslice", namespace}}
}

type services struct{ synced[v1.Service] }

// List logs that the controller looks for the Services of a pod, to queue them.
func (s services) List(selector labels.Selector) ([]*v1.Service, error) {
	s.turns.Add(controller.HandlerName("endpointslice", store.Pods), controller.TurnHandle)
	return s.lister.List(selector)
}
