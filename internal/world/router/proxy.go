package router

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// KubeProxy is the name of the router that follows the rules of kube-proxy in iptables mode.
const KubeProxy = "kube-proxy"

// MinSyncPeriod is the least time between two syncs of kube-proxy (the default of
// iptables.minSyncPeriod and nftables.minSyncPeriod,
// pkg/proxy/apis/config/v1alpha1/defaults.go at v1.37.0).
const MinSyncPeriod = time.Second

const (
	// fullSyncPeriod is the longest time between two syncs (FullSyncPeriod in
	// pkg/proxy/util/utils.go).
	fullSyncPeriod = time.Hour
	// burst is how many syncs kube-proxy makes without a wait before v1.34 (burstSyncs in
	// pkg/proxy/iptables/proxier.go at v1.33.13).
	burst = 2
)

// proxy writes all changes of endpoints at once, in syncs that are apart from each other.
type proxy struct {
	*routes
	LoadBalancer
	run    *sim.Chan[struct{}] // asks for a sync
	ticker *sim.Ticker

	tokens float64 // of the limiter before v1.34
	filled virtual.Time
}

// StartKubeProxy starts the kube-proxy that each node has.
func StartKubeProxy(env *controller.Env) { startProxy(env, Default) }

// Default is the kube-proxy that each node has.
var Default = LoadBalancer{Name: KubeProxy, Syncs: true, MinSync: MinSyncPeriod, KubeProxy: true}

// startProxy starts a router that syncs.
func startProxy(env *controller.Env, of LoadBalancer) {
	k := &proxy{LoadBalancer: of, run: sim.NewChan[struct{}](env.Sim, of.Name+" sync", 1),
		ticker: env.Sim.NewTicker(of.Name+" timer", fullSyncPeriod), tokens: burst}
	k.routes = follow(env, of.Name, func(string) { k.run.TrySend(struct{}{}) })
	loop := k.loop
	if !env.Profile.ProxyWithoutBurst && of.KubeProxy && of.MinSync > 0 {
		loop = k.loopWithBurst
	}
	env.Sim.Go(of.Name, loop)
}

// loop syncs when it is asked to, and then waits for MinSync, which counts from the end of the
// sync. A change that comes meanwhile waits too: this is where most rollouts lose requests (Loop in
// pkg/proxy/runner/bounded_frequency_runner.go at v1.37.0).
func (k *proxy) loop(p *sim.Proc) {
	cases := []sim.Case{sim.On(k.run, func(*sim.Proc, struct{}) {}), sim.OnTick(k.ticker, func(*sim.Proc) {})}
	for {
		p.Select(cases...)
		k.ticker.Stop()
		if k.Gather > 0 && len(k.changes) > 0 {
			p.Sleep(k.Gather)
		}
		k.sync(p)
		k.ticker.Reset(fullSyncPeriod)
		p.Sleep(k.MinSync)
	}
}

// loopWithBurst is the loop before v1.34: it makes up to two syncs without a wait, and then one
// each MinSync (pkg/util/async/bounded_frequency_runner.go at v1.33.13).
func (k *proxy) loopWithBurst(p *sim.Proc) {
	var last, scheduled virtual.Time
	scheduled = p.Now().Add(fullSyncPeriod)
	k.filled = p.Now()
	try := func(p *sim.Proc) {
		if k.accept(p.Now()) {
			k.sync(p)
			last = p.Now()
			scheduled = last.Add(fullSyncPeriod)
		} else {
			scheduled = min(scheduled, last.Add(k.MinSync))
		}
		k.ticker.Reset(max(1, scheduled.Sub(p.Now())))
	}
	cases := []sim.Case{sim.On(k.run, func(p *sim.Proc, _ struct{}) { try(p) }), sim.OnTick(k.ticker, try)}
	for {
		p.Select(cases...)
	}
}

// accept takes a token if there is one: one comes each MinSync, and there are at most burst of
// them.
func (k *proxy) accept(now virtual.Time) bool {
	k.tokens = min(burst, k.tokens+float64(now.Sub(k.filled))/float64(k.MinSync))
	k.filled = now
	if k.tokens < 1 {
		return false
	}
	k.tokens--
	return true
}

// sync reads the endpoints, and applies them to all Services that have changed when the rules are
// written.
func (k *proxy) sync(p *sim.Proc) {
	p.Turn(controller.TurnSync)
	began, changes := p.Now(), k.changes
	k.changes = map[string]change{}
	services := slices.Sorted(maps.Keys(changes))
	targets := map[string][]trace.Endpoint{}
	for _, service := range services {
		targets[service] = k.TargetsOf(k.endpoints(service))
	}
	p.Sleep(k.env.Delays.Sync(k.router))
	for _, service := range services {
		k.apply(p, service, targets[service], changes[service], k.Waited(began.Sub(changes[service].at)))
	}
}

// Waited is the message of a change of targets that waited until a sync began.
func (l *LoadBalancer) Waited(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case l.KubeProxy:
		return fmt.Sprintf("waited %s for minSyncPeriod", d.Round(time.Millisecond))
	}
	return fmt.Sprintf("waited %s for its next sync", d.Round(time.Millisecond))
}

// TargetsOf returns the endpoints that get requests: the ready ones; behind kube-proxy, if there
// are none, those that serve and terminate (CategorizeEndpoints in pkg/proxy/topology.go at
// v1.37.0).
func (l *LoadBalancer) TargetsOf(endpoints []trace.Endpoint) []trace.Endpoint {
	var ready, serving []trace.Endpoint
	for _, e := range endpoints {
		switch {
		case e.Ready:
			ready = append(ready, e)
		case e.Serving && e.Terminating:
			serving = append(serving, e)
		}
	}
	if len(ready) > 0 || !l.KubeProxy {
		return ready
	}
	return serving
}
