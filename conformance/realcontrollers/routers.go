package realcontrollers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/internal/world/router"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// routes are what a router knows of EndpointSlices, and the pods to which it sends requests. The
// lock protects them.
type routes struct {
	server  *Server
	of      router.LoadBalancer
	slices  map[string]*discoveryv1.EndpointSlice
	targets map[string][]trace.Endpoint // by key of the Service
	changes map[string]virtual.Time     // the first change of a Service that is not applied
}

func newRoutes(s *Server, of router.LoadBalancer) *routes {
	return &routes{s, of, map[string]*discoveryv1.EndpointSlice{}, map[string][]trace.Endpoint{},
		map[string]virtual.Time{}}
}

// keep takes over a slice, or forgets one that is deleted. The caller holds the lock.
func (r *routes) keep(s *discoveryv1.EndpointSlice, deleted bool) {
	if r.slices[store.Key(s)] = s; deleted {
		delete(r.slices, store.Key(s))
	}
}

// endpoints returns the endpoints of a Service, by pod. The caller holds the lock.
func (r *routes) endpoints(service string) []trace.Endpoint {
	var list []trace.Endpoint
	for _, s := range r.slices {
		if serviceOf(s) == service {
			list = append(list, apiserver.EndpointsOf(s)...)
		}
	}
	slices.SortFunc(list, func(a, b trace.Endpoint) int { return cmp.Compare(a.Pod, b.Pod) })
	return list
}

// changed notes that a Service has changed. The caller holds the lock.
func (r *routes) changed(service string) {
	if _, waits := r.changes[service]; !waits {
		r.changes[service] = r.server.Now()
	}
}

// apply sends the requests to a Service to other pods from now on. The caller holds the lock.
func (r *routes) apply(service string, targets []trace.Endpoint, since virtual.Time, message string) {
	if slices.Equal(targets, r.targets[service]) {
		return
	}
	r.targets[service] = targets
	r.server.Record(trace.Record{
		Kind: trace.RoutesChanged, Reason: r.of.Name, Took: r.server.Now().Sub(since), Message: message,
		Object: &trace.Object{Name: "Service " + service, Endpoints: targets},
	})
}

func serviceOf(s *discoveryv1.EndpointSlice) string {
	return s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
}

// startProxy starts a router that syncs: kube-proxy with its own limiter, and others with one that
// waits after each sync. As in kube-proxy, a handler keeps the slices and the changed Services for
// the next sync, which takes its latency.
func (s *Server) startProxy(ctx context.Context, of router.LoadBalancer) error {
	client, err := s.client(of.Name)
	if err != nil {
		return err
	}
	r := newRoutes(s, of)
	var runner interface {
		Run()
		Loop(stop <-chan struct{})
	} = &spaced{r.sync, of.MinSync, make(chan struct{}, 1)}
	if of.KubeProxy {
		runner = release.NewProxyRunner(r.sync, of.MinSync, 30*time.Second, time.Hour)
	}
	changed := func(o any, deleted bool) {
		slice := o.(*discoveryv1.EndpointSlice)
		s.Turn(watchName(of.Name, store.EndpointSlices), controller.TurnEvent)
		s.locked(func() {
			r.keep(slice, deleted)
			r.changed(serviceOf(slice))
		})
		runner.Run()
	}
	f := informers.NewSharedInformerFactory(client, noResync)
	_, err = f.Discovery().V1().EndpointSlices().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			changed(o, false)
		}, UpdateFunc: func(_, o any) { changed(o, false) }, DeleteFunc: func(o any) { changed(o, true) },
	})
	go runner.Loop(ctx.Done())
	f.Start(ctx.Done())
	return err
}

// spaced calls a function when it is asked to, and waits for some time after each call.
type spaced struct {
	call  func() error
	apart time.Duration
	asked chan struct{}
}

// Run asks for a call.
func (l *spaced) Run() {
	select {
	case l.asked <- struct{}{}:
	default:
	}
}

// Loop makes the calls until it is stopped.
func (l *spaced) Loop(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-l.asked:
			_ = l.call()
			time.Sleep(l.apart)
		}
	}
}

// sync applies the changes that have come until now, when the rules are written.
func (r *routes) sync() error {
	s := r.server
	s.Turn(r.of.Name, controller.TurnSync)
	began, targets := s.Now(), map[string][]trace.Endpoint{}
	var changes map[string]virtual.Time
	s.locked(func() {
		changes, r.changes = r.changes, map[string]virtual.Time{}
		for service := range changes {
			targets[service] = r.of.TargetsOf(r.endpoints(service))
		}
	})
	s.wait(s.Delays.Sync(r.of.Name), func() {
		for _, service := range slices.Sorted(maps.Keys(changes)) {
			r.apply(service, targets[service], changes[service],
				r.of.Waited(began.Sub(changes[service])))
		}
	})
	return nil
}

// startRouter starts a router besides kube-proxy. A load balancer with delays is the simulator's.
func (s *Server) startRouter(ctx context.Context, of router.LoadBalancer) error {
	if of.Syncs {
		return s.startProxy(ctx, of)
	}
	r, b := newRoutes(s, of), router.NewBalancer(of)
	s.Lock.Lock()
	defer s.Lock.Unlock()
	s.follow(of.Name, store.EndpointSlices, func(c store.Change) {
		slice, since := c.New.(*discoveryv1.EndpointSlice), s.Now()
		service := serviceOf(slice)
		r.keep(slice, c.Type == store.Deleted)
		for _, m := range b.Changed(service, r.endpoints(service)) {
			s.later(s.Delays.Draw(m.Name, m.Least, m.Most), func() {
				if targets, ok := b.Done(m); ok {
					r.apply(service, targets, since, "")
				}
			})
		}
	})
	return nil
}
