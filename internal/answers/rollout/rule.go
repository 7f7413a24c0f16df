package rollout

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"probesim.dev/internal/world/controller"
	"probesim.dev/internal/world/controller/deployment"
	"probesim.dev/internal/world/controller/endpointslice"
)

// alwaysEnough returns a preStop sleep with which no request can be lost in any run, or false if no
// sleep is enough. The time from the deletion of a pod until its router drops it has an upper end:
//
//   - A watch shows the deletion to the EndpointSlice controller, which may make another call.
//   - If its cache does not have its own last write, it waits for a back-off, which doubles with
//     each change of a pod until a watch shows the write: four in a row are the most that 15,000
//     runs had.
//   - Its write of the slice is a call, and a watch shows the slice to the router.
//   - kube-proxy may be in a sync, waits for minSyncPeriod and writes its rules, as other proxies
//     do. A load balancer takes its own delay.
//
// The sleep must last until then, less the time that the program goes on to accept connections, and
// so that the program ends the requests it has. The rule holds as long as the pods of the rollout
// accept requests when they are Ready, another pod is Ready, the Services select the old pods too,
// SIGKILL comes later (cuts), and no Service waits for a worker of the EndpointSlice controller.
// A program to which clients keep connections must close them before it stops, and end the
// requests that came over them. With publishNotReadyAddresses, no sleep is enough: a pod is a
// target until it is gone.
func (w *workload) alwaysEnough(o *Options) (enough time.Duration, ruled bool) {
	counted := w.counted()
	if !w.knowsHooks() || len(counted) == 0 || len(o.App.Others) > 0 || len(w.targets) > controller.Workers ||
		!w.keepsReady(o, rareBackOff) || !w.acceptsWhenReady(o) ||
		slices.ContainsFunc(counted, func(t *target) bool {
			return t.Spec.PublishNotReadyAddresses || !selects(t.Service, t.Namespace, w.old.Spec.Template.Labels)
		}) {
		return 0, false
	}
	drop := longestDrop(o) + rareBackOff
	kept := o.Connections.Count > 0
	for _, container := range w.serve() {
		stop := w.stopOf(o, container, true).Min
		if kept && (o.Connections.UntilExit || stop < o.Latency.Max) {
			return 0, false
		}
		enough = max(enough, drop-min(o.App.refuse(container).Min, stop), drop+o.Latency.Max-stop)
	}
	return enough, true
}

// cuts reports whether the API server rejects a sleep because of the grace period, or SIGKILL may
// come before a program has slept and ended the requests that it has: when the grace period of a
// pod is over, and at least leastGrace after the sleep.
func (w *workload) cuts(o *Options, slept time.Duration) bool {
	grace := graceOf(w.outgoing(o))
	return time.Duration(roundUp(slept))*time.Second >= grace ||
		longestDrop(o)+rareBackOff+o.Latency.Max > max(grace, slept+leastGrace)
}

// outgoing returns the Deployment with the template of the pods that the rollout stops.
func (w *workload) outgoing(o *Options) *appsv1.Deployment {
	if o.Change.Kind == Undo {
		return w.spec
	}
	return w.old
}

// rareBackOff is how much longer than the second back-off the fourth is.
const rareBackOff = 8*endpointslice.BackOff - 2*endpointslice.BackOff

// longestDrop returns the longest time from the deletion of a pod until its router sends it no
// requests, with at most two back-offs.
func longestDrop(o *Options) time.Duration {
	watch, call, sync := o.longest()
	drop := 3*watch + 2*call + 2*endpointslice.BackOff
	if lb, balanced := o.balancer(); balanced {
		return drop + lb.RemoveMost
	}
	return drop + 2*sync + o.routing().MinSync
}

// keepsReady reports whether the router always has another pod: one that stays available in the
// whole rollout, and that a load balancer has added before its minReadySeconds are over even if
// that takes some time more than longestAdd.
func (w *workload) keepsReady(o *Options, more time.Duration) bool {
	if o.Change.Kind == Scale {
		return o.Change.Scale > 0
	}
	if w.spec.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return false
	}
	if _, balanced := o.balancer(); balanced &&
		time.Duration(w.spec.Spec.MinReadySeconds-1)*time.Second < longestAdd(o)+more {
		return false
	}
	_, unavailable := w.fenceposts()
	return *w.spec.Spec.Replicas > unavailable
}

// longestAdd returns the longest time from Ready until a load balancer sends requests to a pod. A
// pod can be available a second before its minReadySeconds are over, because the API has the time
// of Ready in whole seconds.
func longestAdd(o *Options) time.Duration {
	lb, _ := o.balancer()
	return longestDrop(o) - lb.RemoveMost + lb.AddMost
}

// acceptsWhenReady reports whether a pod accepts requests as soon as it is Ready.
func (w *workload) acceptsWhenReady(o *Options) bool {
	return !slices.ContainsFunc(w.serve(), func(container string) bool { return !w.probesStart(o, container) })
}

// probesStart reports whether a container starts at once, or has a probe that notices when it is
// up.
func (w *workload) probesStart(o *Options, container string) bool {
	start, c := o.App.Start.In(container, true), serving(w.spec, container)
	return start == nil || start.Max == 0 || c.ReadinessProbe != nil || c.StartupProbe != nil
}

// longestStart returns how long the containers that serve take to start at most.
func (w *workload) longestStart(o *Options) (most time.Duration) {
	for _, container := range w.serve() {
		if start := o.App.Start.In(container, true); start != nil {
			most = max(most, start.Max)
		}
	}
	return most
}

// longestStop returns how long they take from SIGTERM to their exit at most.
func (w *workload) longestStop(o *Options) (most time.Duration) {
	for _, container := range w.serve() {
		most = max(most, w.stopOf(o, container, true).Max)
	}
	return most
}

// fenceposts returns maxSurge and maxUnavailable as numbers of pods. Recreate stops all pods.
func (w *workload) fenceposts() (surge, unavailable int32) {
	if w.spec.Spec.Strategy.RollingUpdate == nil {
		return 0, *w.spec.Spec.Replicas
	}
	return deployment.ResolveFenceposts(w.spec.Spec.Strategy.RollingUpdate, *w.spec.Spec.Replicas)
}
