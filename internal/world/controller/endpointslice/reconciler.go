package endpointslice

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
)

// SlicesOf, followed by a Service, is the name of the walk over its slices in the order in which a
// sync changes them: that of a Go map (reconcileByPortMapping in reconciler.go of
// k8s.io/endpointslice at v0.37.2).
const SlicesOf = "slices of "

// plan is what a sync writes.
type plan struct{ create, update, remove []*discoveryv1.EndpointSlice }

// reconcile writes the slices that change, one after the other: new ones, changed ones, and
// deletions (finalize in reconciler.go of k8s.io/endpointslice at v0.37.0).
func (c *Controller) reconcile(p *sim.Proc, service *v1.Service, pods []*v1.Pod,
	existing []*discoveryv1.EndpointSlice) error {
	key, todo := store.Key(service), newPlan(service, pods, existing)
	for _, s := range todo.create {
		stored, err := controller.Create(c.client, p, store.EndpointSlices, s)
		if err != nil {
			return err
		}
		c.written.wrote(key, stored.UID, stored.Generation)
	}
	walk := SlicesOf + key
	choose.Guided(&p.Sim().Asker, walk, todo.update, func(s *discoveryv1.EndpointSlice) string { return store.Key(s) })
	choose.Shuffle(&p.Sim().Asker, walk, todo.update)
	for _, s := range todo.update {
		stored, err := controller.Update(c.client, p, store.EndpointSlices, s)
		if err != nil {
			return err
		}
		c.written.wrote(key, stored.UID, stored.Generation)
	}
	for _, s := range todo.remove {
		if err := c.client.Delete(p, store.EndpointSlices, s.Namespace, s.Name); err != nil {
			return err
		}
		c.written.wrote(key, s.UID, deletion)
	}
	return nil
}

// endpoints are endpoints by their pods.
type endpoints map[types.NamespacedName]discoveryv1.Endpoint

// newPlan compares the pods of a Service with its slices. A Service without endpoints has one empty
// slice, which becomes the first one with endpoints (reconcileByAddressType).
func newPlan(service *v1.Service, pods []*v1.Pod, existing []*discoveryv1.EndpointSlice) plan {
	wanted := make(endpoints, len(pods))
	ports := portsOf(service, pods)
	for _, pod := range pods {
		if shouldBeInEndpoints(pod) {
			wanted[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = podToEndpoint(service, pod)
		}
	}
	empty := []discoveryv1.EndpointPort{}
	if len(wanted) == 0 {
		if len(existing) == 1 && len(existing[0].Endpoints) == 0 && len(existing[0].Ports) == 0 {
			return plan{}
		}
		return reuse(plan{create: []*discoveryv1.EndpointSlice{newSlice(service, empty)}, remove: existing})
	}
	samePorts := slices.Clone(existing)
	samePorts = slices.DeleteFunc(samePorts,
		func(s *discoveryv1.EndpointSlice) bool { return !equality.Semantic.DeepEqual(s.Ports, ports) })
	others := slices.DeleteFunc(slices.Clone(existing),
		func(s *discoveryv1.EndpointSlice) bool { return slices.Contains(samePorts, s) })
	todo := fill(service, ports, wanted, samePorts)
	todo.remove = append(todo.remove, others...)
	return reuse(todo)
}

// fill keeps wanted endpoints where they are, takes others out, and puts new ones into slices that
// change anyway, then into one with room, then into new ones (reconcileByPortMapping).
func fill(service *v1.Service, ports []discoveryv1.EndpointPort, wanted endpoints,
	existing []*discoveryv1.EndpointSlice) plan {
	var todo plan
	var unchanged []*discoveryv1.EndpointSlice
	for _, s := range existing {
		kept, changed := keep(s, wanted)
		switch {
		case !changed:
			unchanged = append(unchanged, s)
		case len(kept) == 0:
			todo.remove = append(todo.remove, s)
		default:
			todo.update = append(todo.update, withEndpoints(s, kept))
		}
	}
	left := sortedEndpoints(wanted)
	slices.SortStableFunc(todo.update,
		func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(len(b.Endpoints), len(a.Endpoints)) })
	for _, s := range todo.update {
		left = addTo(s, left)
	}
	for len(left) > 0 {
		room := -1
		for i, s := range unchanged {
			if free := maxEndpoints - len(s.Endpoints) - len(left); free >= 0 && (room < 0 ||
				len(s.Endpoints) > len(unchanged[room].Endpoints)) {
				room = i
			}
		}
		if room < 0 {
			s := newSlice(service, ports)
			left = addTo(s, left)
			todo.create = append(todo.create, s)
			continue
		}
		s := withEndpoints(unchanged[room], unchanged[room].Endpoints)
		left = addTo(s, left)
		todo.update = append(todo.update, s)
	}
	return todo
}

// keep returns the endpoints of a slice that are wanted, as they are now, and takes them out of the
// wanted ones. It reports whether the slice changes.
func keep(s *discoveryv1.EndpointSlice, wanted endpoints) (kept []discoveryv1.Endpoint, changed bool) {
	kept = make([]discoveryv1.Endpoint, 0, len(s.Endpoints))
	for _, e := range s.Endpoints {
		pod := types.NamespacedName{Namespace: e.TargetRef.Namespace, Name: e.TargetRef.Name}
		now, ok := wanted[pod]
		if !ok || !slices.Equal(now.Addresses, e.Addresses) {
			changed = true
			continue
		}
		changed = changed || !equalEndpoints(now, e)
		kept = append(kept, now)
		delete(wanted, pod)
	}
	return kept, changed
}

// equalEndpoints compares what podToEndpoint sets, besides the addresses.
func equalEndpoints(a, b discoveryv1.Endpoint) bool {
	return *a.Conditions.Ready == *b.Conditions.Ready && *a.Conditions.Serving == *b.Conditions.Serving &&
		*a.Conditions.Terminating == *b.Conditions.Terminating && ptr.Equal(a.NodeName, b.NodeName) &&
		*a.TargetRef == *b.TargetRef
}

// sortedEndpoints returns endpoints by pod. The real controller has them in the order of a Go map,
// which nothing shows.
func sortedEndpoints(wanted endpoints) []discoveryv1.Endpoint {
	var list []discoveryv1.Endpoint
	for _, e := range wanted {
		list = append(list, e)
	}
	slices.SortFunc(list,
		func(a, b discoveryv1.Endpoint) int { return cmp.Compare(a.TargetRef.Name, b.TargetRef.Name) })
	return list
}

// addTo adds endpoints to a slice until it is full, and returns the others.
func addTo(s *discoveryv1.EndpointSlice, left []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	n := min(len(left), maxEndpoints-len(s.Endpoints))
	s.Endpoints = append(slices.Clip(s.Endpoints), left[:n]...)
	return left[n:]
}

func withEndpoints(s *discoveryv1.EndpointSlice, endpoints []discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	own := *s
	own.Endpoints = endpoints
	return &own
}

// reuse changes a slice that would be deleted into one that would be created.
func reuse(p plan) plan {
	for len(p.create) > 0 && len(p.remove) > 0 {
		s := p.create[len(p.create)-1]
		s.Name = p.remove[0].Name
		p.create, p.remove = p.create[:len(p.create)-1], slices.Clone(p.remove[1:])
		p.update = append(p.update, s)
	}
	return p
}

// newSlice returns a slice of a Service without endpoints.
func newSlice(service *v1.Service, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, GenerateName: service.Name + "-",
			Labels: map[string]string{discoveryv1.LabelServiceName: service.Name,
				discoveryv1.LabelManagedBy: managedBy},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service,
				v1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: ports, Endpoints: []discoveryv1.Endpoint{},
	}
}

// shouldBeInEndpoints reports whether a pod is an endpoint: from its first IP until it has ended or
// is gone, also while it terminates (ShouldPodBeInEndpoints).
func shouldBeInEndpoints(pod *v1.Pod) bool {
	return !controller.IsPodTerminal(pod) && len(pod.Status.PodIPs) > 0
}

// podToEndpoint returns the endpoint of a pod. It serves while the pod is Ready; it is ready while
// it serves and does not terminate, so it is no longer ready from the request to delete the pod
// (podToEndpoint in utils.go).
func podToEndpoint(service *v1.Service, pod *v1.Pod) discoveryv1.Endpoint {
	serving, terminating := controller.IsPodReady(pod), pod.DeletionTimestamp != nil
	ready := service.Spec.PublishNotReadyAddresses || serving && !terminating
	e := discoveryv1.Endpoint{
		Conditions: discoveryv1.EndpointConditions{Ready: pointer(ready), Serving: pointer(serving),
			Terminating: pointer(terminating)},
		TargetRef: &v1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	for _, ip := range pod.Status.PodIPs {
		e.Addresses = append(e.Addresses, ip.IP)
	}
	if pod.Spec.NodeName != "" {
		e.NodeName = &pod.Spec.NodeName
	}
	return e
}

var yes, no = true, false

// pointer returns a pointer to a value that does not change. The endpoints share it.
func pointer(b bool) *bool {
	if b {
		return &yes
	}
	return &no
}

// portsOf returns the ports of a Service with the numbers that its pods have for them
// (getEndpointPorts in utils.go).
func portsOf(service *v1.Service, pods []*v1.Pod) []discoveryv1.EndpointPort {
	ports := []discoveryv1.EndpointPort{}
	for _, p := range service.Spec.Ports {
		number := p.TargetPort.IntVal
		if p.TargetPort.StrVal != "" {
			number = namedPort(p.TargetPort.StrVal, pods)
		} else if number == 0 {
			number = p.Port
		}
		if number > 0 {
			ports = append(ports, discoveryv1.EndpointPort{Name: ptr.To(p.Name), Port: ptr.To(number),
				Protocol: ptr.To(cmp.Or(p.Protocol, v1.ProtocolTCP)), AppProtocol: p.AppProtocol})
		}
	}
	return ports
}

// namedPort returns the number of a named port, or 0 if no container has it.
func namedPort(name string, pods []*v1.Pod) int32 {
	for _, pod := range pods {
		for _, container := range pod.Spec.Containers {
			for _, port := range container.Ports {
				if port.Name == name {
					return port.ContainerPort
				}
			}
		}
	}
	return 0
}
