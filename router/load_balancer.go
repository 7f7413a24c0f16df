package router

import (
	"maps"
	"slices"
	"time"

	"probesim.dev/controller"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// LoadBalancer is a router outside the cluster, such as one whose targets a controller of a cloud registers and deregisters. It is a range
// of delays for each direction; what happens in between is not simulated.
type LoadBalancer struct {
	Name string
	// AddLeast and AddMost bound the time from the change of an EndpointSlice until a new ready pod gets requests, and RemoveLeast and
	// RemoveMost the time until a pod that is no longer ready gets none.
	AddLeast, AddMost       time.Duration
	RemoveLeast, RemoveMost time.Duration
}

// loadBalancer adds and removes each pod on its own.
type loadBalancer struct {
	*routes
	LoadBalancer
	wanted map[string]map[string]bool           // ready pods, by the key of the Service
	wishes map[string]int                       // how often a pod has become ready or not, by the keys of the Service and the pod
	routed map[string]map[string]trace.Endpoint // targets, by the key of the Service and the pod
}

// StartLoadBalancer starts a load balancer.
func StartLoadBalancer(env *controller.Env, of LoadBalancer) {
	l := &loadBalancer{LoadBalancer: of, wanted: map[string]map[string]bool{}, wishes: map[string]int{}, routed: map[string]map[string]trace.Endpoint{}}
	l.routes = follow(env, of.Name, func(service string) { l.changed(service) })
}

// changed begins to add the pods that have become ready, and to remove those that are no longer.
func (l *loadBalancer) changed(service string) {
	since := l.changes[service]
	delete(l.changes, service)
	ready := map[string]bool{}
	for _, e := range l.endpoints(service) {
		if !e.Ready {
			continue
		}
		ready[e.Pod] = true
		if !l.wanted[service][e.Pod] {
			l.later("add ", service, e, l.AddLeast, l.AddMost, since)
		}
	}
	for _, pod := range slices.Sorted(maps.Keys(l.wanted[service])) {
		if !ready[pod] {
			l.later("remove ", service, trace.Endpoint{Pod: pod}, l.RemoveLeast, l.RemoveMost, since)
		}
	}
	l.wanted[service] = ready
}

// later adds or removes a pod after a delay, unless the pod has changed again until then.
func (l *loadBalancer) later(verb, service string, e trace.Endpoint, least, most time.Duration, since change) {
	of := service + " " + e.Pod
	l.wishes[of]++
	wish, name := l.wishes[of], l.Name+" "+verb+of
	l.env.Sim.Go(name, func(p *sim.Proc) {
		p.Sleep(l.env.Delays.Draw(name, least, most))
		if l.wishes[of] != wish {
			return
		}
		if l.routed[service] == nil {
			l.routed[service] = map[string]trace.Endpoint{}
		}
		if delete(l.routed[service], e.Pod); e.Ready {
			l.routed[service][e.Pod] = e
		}
		var targets []trace.Endpoint
		for _, pod := range slices.Sorted(maps.Keys(l.routed[service])) {
			targets = append(targets, l.routed[service][pod])
		}
		l.apply(p, service, targets, since, "")
	})
}
