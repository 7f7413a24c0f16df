// Package router simulates what sends requests to the pods of Services: it follows the
// EndpointSlices with a delay, and a record RoutesChanged says to which pods requests go from then
// on. kube-proxy has its own rules; a load balancer is a range of delays.
package router

import (
	"cmp"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// routes are the endpoints of Services as the cache of a router shows them, and the pods to which
// it sends requests.
type routes struct {
	env     *controller.Env
	router  string
	slices  *controller.Informer
	targets map[string][]trace.Endpoint // by key of the Service
	changes map[string]change           // of Services whose change is not applied, the first one
}

// change is a change of endpoints.
type change struct {
	at    virtual.Time
	cause int64
}

// follow returns the routes of a router. It calls changed for each change of a Service.
func follow(env *controller.Env, router string, changed func(service string)) *routes {
	r := &routes{
		env: env, router: router, slices: controller.NewInformers(env, router).Of(store.EndpointSlices),
		targets: map[string][]trace.Endpoint{}, changes: map[string]change{},
	}
	r.slices.Handle(func(old, o store.Object) {
		slice := controller.Either(old, o).(*discoveryv1.EndpointSlice)
		service := slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]
		if _, waits := r.changes[service]; !waits {
			r.changes[service] = change{env.Sim.Now(), env.Sim.Cause()}
		}
		changed(service)
	})
	return r
}

// endpoints returns the endpoints of a Service, by pod.
func (r *routes) endpoints(service string) []trace.Endpoint {
	var all []trace.Endpoint
	for _, s := range controller.List(r.slices, func(s *discoveryv1.EndpointSlice) bool {
		return s.Namespace+"/"+s.Labels[discoveryv1.LabelServiceName] == service
	}) {
		all = append(all, apiserver.EndpointsOf(s)...)
	}
	slices.SortFunc(all, func(a, b trace.Endpoint) int { return cmp.Compare(a.Pod, b.Pod) })
	return all
}

// apply sends the requests to a Service to other pods from now on.
func (r *routes) apply(p *sim.Proc, service string, targets []trace.Endpoint, since change, message string) {
	if slices.Equal(targets, r.targets[service]) {
		return
	}
	r.targets[service] = targets
	r.env.Trace.Add(trace.Record{
		T: p.Now(), Kind: trace.RoutesChanged, Cause: since.cause, Reason: r.router, Took: p.Now().Sub(since.at),
		Message: message,
		Object:  &trace.Object{Name: "Service " + service, Endpoints: targets},
	})
}
