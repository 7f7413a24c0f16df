package router

import (
	"maps"
	"slices"
	"time"

	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// LoadBalancer is a router besides kube-proxy. One outside the cluster, whose targets a controller
// of a cloud registers and deregisters, is a range of delays for each direction; what happens in
// between is not simulated. A proxy in the cluster syncs.
type LoadBalancer struct {
	Name string
	// Syncs says that it takes all changes over at once, as kube-proxy does, in syncs that are
	// MinSync apart, and each a Gather after its first change. It has none of the other delays.
	Syncs           bool
	MinSync, Gather time.Duration
	KubeProxy       bool // one of its modes
	// AddLeast and AddMost bound the time from the change of an EndpointSlice until a new ready pod
	// gets requests, and RemoveLeast and RemoveMost the time until a pod that is no longer ready
	// gets none.
	AddLeast, AddMost       time.Duration
	RemoveLeast, RemoveMost time.Duration
}

// Balancer is the state of a load balancer, which adds and removes each pod on its own. The caller
// waits for the delays.
type Balancer struct {
	LoadBalancer
	wanted map[string]map[string]bool // ready pods, by the key of the Service
	// how often a pod has become ready or not, by the keys of the Service and the pod
	wishes map[string]int
	routed map[string]map[string]trace.Endpoint // targets, by the key of the Service and the pod
}

// Move is a pod that gets requests, or gets none any more, after a delay.
type Move struct {
	Name        string // of the delay
	Least, Most time.Duration
	service     string
	endpoint    trace.Endpoint
	wish        int
}

// NewBalancer returns a load balancer without targets.
func NewBalancer(of LoadBalancer) *Balancer {
	return &Balancer{of, map[string]map[string]bool{}, map[string]int{}, map[string]map[string]trace.Endpoint{}}
}

// Changed returns the moves that begin when a Service has new endpoints: of the pods that have
// become ready, and of those that are no longer.
func (b *Balancer) Changed(service string, endpoints []trace.Endpoint) []Move {
	var moves []Move
	ready := map[string]bool{}
	for _, e := range endpoints {
		if !e.Ready {
			continue
		}
		ready[e.Pod] = true
		if !b.wanted[service][e.Pod] {
			moves = append(moves, b.move("add ", service, e, b.AddLeast, b.AddMost))
		}
	}
	for _, pod := range slices.Sorted(maps.Keys(b.wanted[service])) {
		if !ready[pod] {
			moves = append(moves, b.move("remove ", service, trace.Endpoint{Pod: pod}, b.RemoveLeast, b.RemoveMost))
		}
	}
	b.wanted[service] = ready
	return moves
}

func (b *Balancer) move(verb, service string, e trace.Endpoint, least, most time.Duration) Move {
	of := service + " " + e.Pod
	b.wishes[of]++
	return Move{b.Name + " " + verb + of, least, most, service, e, b.wishes[of]}
}

// Done returns the targets of the Service after the delay of a move. It returns false if the pod
// has changed again meanwhile.
func (b *Balancer) Done(m Move) ([]trace.Endpoint, bool) {
	if b.wishes[m.service+" "+m.endpoint.Pod] != m.wish {
		return nil, false
	}
	if b.routed[m.service] == nil {
		b.routed[m.service] = map[string]trace.Endpoint{}
	}
	routed := b.routed[m.service]
	if delete(routed, m.endpoint.Pod); m.endpoint.Ready {
		routed[m.endpoint.Pod] = m.endpoint
	}
	var targets []trace.Endpoint
	for _, pod := range slices.Sorted(maps.Keys(routed)) {
		targets = append(targets, routed[pod])
	}
	return targets, true
}

// StartLoadBalancer starts a load balancer.
func StartLoadBalancer(env *controller.Env, of LoadBalancer) {
	if of.Syncs {
		startProxy(env, of)
		return
	}
	b := NewBalancer(of)
	var r *routes
	r = follow(env, of.Name, func(service string) {
		since := r.changes[service]
		delete(r.changes, service)
		for _, m := range b.Changed(service, r.endpoints(service)) {
			env.Sim.Go(m.Name, func(p *sim.Proc) {
				p.Sleep(env.Delays.Draw(m.Name, m.Least, m.Most))
				if targets, ok := b.Done(m); ok {
					r.apply(p, service, targets, since, "")
				}
			})
		}
	})
}
