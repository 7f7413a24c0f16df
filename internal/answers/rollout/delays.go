package rollout

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/world/router"
)

// control returns the latencies of the control plane beside a kind of node. Without a kind of node
// they are nil: the defaults of package node.
func (o *Options) control() *fakeruntime.ControlDelays {
	set, ok := fakeruntime.ControlDelaySet(o.Delays)
	if !ok {
		return nil
	}
	return &set
}

// longest returns the longest latencies of a watch, a call and a sync.
func (o *Options) longest() (watch, call, sync time.Duration) {
	if set := o.control(); set != nil {
		return set.Watch.Max, set.Call.Max, set.Sync.Max
	}
	// the greatest defaults of package node, rounded up
	return 13 * time.Millisecond, 8 * time.Millisecond, 100 * time.Millisecond
}

// routing returns the router.
func (o *Options) routing() router.LoadBalancer {
	if named, is := router.NamedLoadBalancer(o.Router); is {
		return named.LoadBalancer
	}
	return router.Default
}

// balancer returns the router if it is a load balancer, which takes a time of its own to add and to
// remove each pod.
func (o *Options) balancer() (router.LoadBalancer, bool) {
	if r := o.routing(); !r.Syncs {
		return r, true
	}
	return router.LoadBalancer{}, false
}

// nodes returns the latencies of the nodes.
func (o *Options) nodes() fakeruntime.Delays {
	set, _ := fakeruntime.DelaySet(o.Delays)
	return set
}
