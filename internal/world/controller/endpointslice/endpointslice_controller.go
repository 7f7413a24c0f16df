// Package endpointslice simulates the EndpointSlice controller: it lists the pods of each Service
// that has a selector. The rules are those of pkg/controller/endpointslice and of
// k8s.io/endpointslice at v1.37.0. Addresses are IPv4; all pods of a Service have the same ports;
// zones, hints and host names are not simulated.
package endpointslice

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
)

// BackOff is how long a Service that fails waits the first time, for example because the cache does
// not have the last write of the controller. It doubles with each failure (defaultSyncBackOff in
// pkg/controller/endpointslice/endpointslice_controller.go at v1.37.0).
const BackOff = time.Second

const (
	// retries is how often a Service that fails is tried again (maxRetries).
	retries = 15
	// changeDelay is how long the controller waits after somebody else has changed a slice
	// (endpointSliceChangeMinSyncDelay).
	changeDelay = time.Second
	// maxEndpoints is the size of a slice (MaxEndpointsPerSlice in config/v1alpha1/defaults.go).
	maxEndpoints = 100
	// managedBy is the value of the label managed-by (ControllerName).
	managedBy = "endpointslice-controller.k8s.io"
)

// errStale is the error of a sync whose cache does not show what the controller has written. The
// next try is a second later.
var errStale = errors.New("EndpointSlice informer cache is out of date")

// Controller is the EndpointSlice controller.
type Controller struct {
	client   *controller.Client
	services *controller.Informer
	pods     *controller.Informer
	slices   *controller.Informer
	queue    *controller.Queue
	written  tracker
}

// Start starts the controller in a component.
func Start(env *controller.Env, f *controller.Informers) {
	c := &Controller{
		client: controller.NewClient(env), services: f.Of(store.Services), pods: f.Of(store.Pods),
		slices: f.Of(store.EndpointSlices), written: tracker{},
	}
	const queue = "endpointslice"
	c.queue = controller.NewQueue(env, queue, c.syncService)
	c.queue.Base, c.queue.Retries = BackOff, retries
	c.services.HandleFor(queue, nil, func(old, o store.Object) { c.queue.Add(store.Key(controller.Either(old, o))) })
	c.pods.HandleFor(queue, func(old, o store.Object) bool {
		return podMatters(old, o, env.Profile.EndpointsFollowPhase)
	}, c.podChanged)
	c.slices.HandleFor(queue, nil, c.sliceChanged)
}

// podMatters reports whether Services can see a change of a pod. From 1.38 on, they cannot see a
// pod that is no endpoint before and after, and can see that it becomes one or no longer is one
// (GetPodUpdateProjectionKey in util/controller_utils.go of k8s.io/endpointslice at
// v0.38.0-beta.0).
func podMatters(old, o store.Object, followsPhase bool) bool {
	before, existed := old.(*v1.Pod)
	pod, exists := o.(*v1.Pod)
	was, is := existed && shouldBeInEndpoints(before), exists && shouldBeInEndpoints(pod)
	if followsPhase && (was != is || !is) {
		return was != is
	}
	return !existed || !exists || endpointChanged(before, pod) || !equalLabels(before, pod)
}

// podChanged queues the Services that select a pod, by its labels now and before. The real
// controller has a queue of pods in between from v1.35 on, which takes no time.
func (c *Controller) podChanged(old, o store.Object) {
	before, existed := old.(*v1.Pod)
	pod, exists := o.(*v1.Pod)
	for _, service := range controller.List(c.services, func(s *v1.Service) bool {
		return existed && selects(s, before) || exists && selects(s, pod)
	}) {
		c.queue.Add(store.Key(service))
	}
}

// selects reports whether a Service selects a pod. One without a selector selects none.
func selects(s *v1.Service, pod *v1.Pod) bool {
	return s.Spec.Selector != nil && s.Namespace == pod.Namespace && controller.HasLabels(pod, s.Spec.Selector)
}

// endpointChanged reports whether a change of a pod can change its endpoint. Each change of a
// deleted pod counts, because the real controller compares pointers (podEndpointsChanged in
// util/controller_utils.go of k8s.io/endpointslice at v0.37.0).
func endpointChanged(before, pod *v1.Pod) bool {
	if before.DeletionTimestamp != nil || pod.DeletionTimestamp != nil ||
		controller.IsPodReady(before) != controller.IsPodReady(pod) ||
		len(before.Status.PodIPs) != len(pod.Status.PodIPs) {
		return true
	}
	for i := range pod.Status.PodIPs {
		if before.Status.PodIPs[i] != pod.Status.PodIPs[i] {
			return true
		}
	}
	return false
}

func equalLabels(a, b *v1.Pod) bool { return labels.Equals(a.Labels, b.Labels) }

// sliceChanged queues the Service of a slice that somebody else has changed (onEndpointSliceAdd,
// onEndpointSliceUpdate, onEndpointSliceDelete).
func (c *Controller) sliceChanged(old, o store.Object) {
	slice, exists := o.(*discoveryv1.EndpointSlice)
	if !exists {
		slice = old.(*discoveryv1.EndpointSlice)
	}
	service := serviceOf(slice)
	if slice.Labels[discoveryv1.LabelManagedBy] != managedBy {
		return
	}
	if exists && c.written.changedByOthers(service, slice) || !exists && c.written.deletedByOthers(service, slice) {
		c.queue.AddAfter(service, changeDelay)
	}
}

// serviceOf returns the key of the Service of a slice.
func serviceOf(slice *discoveryv1.EndpointSlice) string {
	return slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]
}

// syncService writes the slices of a Service, if the cache shows all that the controller has
// written before.
func (c *Controller) syncService(p *sim.Proc, key string) error {
	service, ok := controller.Get[*v1.Service](c.services, key)
	if !ok {
		delete(c.written, key)
		return nil
	}
	if service.Spec.Type == v1.ServiceTypeExternalName || service.Spec.Selector == nil {
		return nil
	}
	existing := controller.List(c.slices, func(s *discoveryv1.EndpointSlice) bool {
		return serviceOf(s) == key && s.Labels[discoveryv1.LabelManagedBy] == managedBy
	})
	if c.written.stale(key, existing) {
		return errStale
	}
	pods := controller.List(c.pods, func(pod *v1.Pod) bool { return selects(service, pod) })
	return c.reconcile(p, service, pods, existing)
}

// deletion is the generation of a slice that the controller has deleted.
const deletion = -1

// tracker is what the controller has written: the generations of slices by their UIDs, by the key
// of the Service (util/endpointslice_tracker.go of k8s.io/endpointslice at v0.37.0).
type tracker map[string]map[types.UID]int64

// wrote notes the generation of a slice.
func (t tracker) wrote(service string, uid types.UID, generation int64) {
	if t[service] == nil {
		t[service] = map[types.UID]int64{}
	}
	t[service][uid] = generation
}

// changedByOthers reports whether a slice is newer than what the controller has written.
func (t tracker) changedByOthers(service string, slice *discoveryv1.EndpointSlice) bool {
	generation, known := t[service][slice.UID]
	return !known || slice.Generation > generation
}

// deletedByOthers reports whether a slice is gone that the controller has not deleted, and forgets
// the slice.
func (t tracker) deletedByOthers(service string, slice *discoveryv1.EndpointSlice) bool {
	generation, known := t[service][slice.UID]
	delete(t[service], slice.UID)
	return known && generation != deletion
}

// stale reports whether cached slices are older than what the controller has written.
func (t tracker) stale(service string, cached []*discoveryv1.EndpointSlice) bool {
	seen := 0
	for _, s := range cached {
		generation, known := t[service][s.UID]
		if known && (generation == deletion || generation > s.Generation) {
			return true
		}
		if known {
			seen++
		}
	}
	return seen < t.expected(service)
}

// expected returns the number of slices of a Service that exist.
func (t tracker) expected(service string) int {
	n := 0
	for _, generation := range t[service] {
		if generation != deletion {
			n++
		}
	}
	return n
}
