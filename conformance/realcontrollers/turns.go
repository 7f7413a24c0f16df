package realcontrollers

import (
	"runtime"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
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
func (l *Turns) syncing(queue, key string) {
	l.mu.Lock()
	handles := l.handling[goroutine()]
	l.mu.Unlock()
	if !handles {
		l.Add(queue+" "+key, controller.TurnSync)
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

func (l *Turns) handlers(i cache.SharedIndexInformer, queue string, kind store.Kind) handlers {
	return handlers{i, l, controller.HandlerName(queue, kind)}
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

// The informers of a controller. Their handlers log turns, and so does the read with which the
// controller begins a sync.

type deploymentInformer struct {
	appsinformers.DeploymentInformer
	turns *Turns
	queue string
}

func (i deploymentInformer) Informer() cache.SharedIndexInformer {
	return i.turns.handlers(i.DeploymentInformer.Informer(), i.queue, store.Deployments)
}

func (i deploymentInformer) Lister() appslisters.DeploymentLister {
	return deploymentLister{i.DeploymentInformer.Lister(), i.turns}
}

type deploymentLister struct {
	appslisters.DeploymentLister
	turns *Turns
}

func (l deploymentLister) Deployments(namespace string) appslisters.DeploymentNamespaceLister {
	return deploymentsOf{l.DeploymentLister.Deployments(namespace), l.turns, namespace}
}

type deploymentsOf struct {
	appslisters.DeploymentNamespaceLister
	turns     *Turns
	namespace string
}

func (l deploymentsOf) Get(name string) (*appsv1.Deployment, error) {
	l.turns.syncing("deployment", l.namespace+"/"+name)
	return l.DeploymentNamespaceLister.Get(name)
}

type replicaSetInformer struct {
	appsinformers.ReplicaSetInformer
	turns *Turns
	queue string
}

func (i replicaSetInformer) Informer() cache.SharedIndexInformer {
	return i.turns.handlers(i.ReplicaSetInformer.Informer(), i.queue, store.ReplicaSets)
}

func (i replicaSetInformer) Lister() appslisters.ReplicaSetLister {
	if i.queue != "replicaset" {
		return i.ReplicaSetInformer.Lister()
	}
	return replicaSetLister{i.ReplicaSetInformer.Lister(), i.turns}
}

type replicaSetLister struct {
	appslisters.ReplicaSetLister
	turns *Turns
}

func (l replicaSetLister) ReplicaSets(namespace string) appslisters.ReplicaSetNamespaceLister {
	return replicaSetsOf{l.ReplicaSetLister.ReplicaSets(namespace), l.turns, namespace}
}

type replicaSetsOf struct {
	appslisters.ReplicaSetNamespaceLister
	turns     *Turns
	namespace string
}

func (l replicaSetsOf) Get(name string) (*appsv1.ReplicaSet, error) {
	l.turns.syncing("replicaset", l.namespace+"/"+name)
	return l.ReplicaSetNamespaceLister.Get(name)
}

type podInformer struct {
	coreinformers.PodInformer
	turns *Turns
	queue string
}

// Informer returns an informer. The EndpointSlice controller from v1.35 on only queues a pod in its
// handler; it is later that the pod's Services are listed and queued: see servicesOf.List.
func (i podInformer) Informer() cache.SharedIndexInformer {
	of := i.turns.handlers(i.PodInformer.Informer(), i.queue, store.Pods)
	if i.queue == "endpointslice" {
		of.process = ""
	}
	return of
}

type serviceInformer struct {
	coreinformers.ServiceInformer
	turns *Turns
}

func (i serviceInformer) Informer() cache.SharedIndexInformer {
	return i.turns.handlers(i.ServiceInformer.Informer(), "endpointslice", store.Services)
}

func (i serviceInformer) Lister() corelisters.ServiceLister {
	return serviceLister{i.ServiceInformer.Lister(), i.turns}
}

type serviceLister struct {
	corelisters.ServiceLister
	turns *Turns
}

func (l serviceLister) Services(namespace string) corelisters.ServiceNamespaceLister {
	return servicesOf{l.ServiceLister.Services(namespace), l.turns, namespace}
}

type servicesOf struct {
	corelisters.ServiceNamespaceLister
	turns     *Turns
	namespace string
}

func (l servicesOf) Get(name string) (*v1.Service, error) {
	l.turns.syncing("endpointslice", l.namespace+"/"+name)
	return l.ServiceNamespaceLister.Get(name)
}

// List logs that the controller looks for the Services of a pod, to queue them.
func (l servicesOf) List(s labels.Selector) ([]*v1.Service, error) {
	l.turns.Add(controller.HandlerName("endpointslice", store.Pods), controller.TurnHandle)
	return l.ServiceNamespaceLister.List(s)
}

type sliceInformer struct {
	discoveryinformers.EndpointSliceInformer
	turns *Turns
}

func (i sliceInformer) Informer() cache.SharedIndexInformer {
	return i.turns.handlers(i.EndpointSliceInformer.Informer(), "endpointslice", store.EndpointSlices)
}
