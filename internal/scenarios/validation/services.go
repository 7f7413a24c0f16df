package validation

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/router"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// checkServices resolves the entries of spec.services and spec.traffic.
func (c *checker) checkServices() {
	if !c.controlled() {
		return
	}
	n := c.spec.Field("services")
	if !format.Fits(n) || !format.Fits(c.spec.Field("traffic")) {
		return
	}
	for i := range c.scenario.Spec.Services {
		if item := n.Index(i); item.Kind == strict.Mapping {
			c.checkService(&c.scenario.Spec.Services[i], item)
		}
	}
	for i := range c.scenario.Spec.Traffic {
		if item := c.spec.Field("traffic").Index(i); item.Kind == strict.Mapping {
			c.checkTraffic(&c.scenario.Spec.Traffic[i], item)
		}
	}
}

// checkService adds a Service to the scenario: that of a manifest, or one that is made from the
// workload of its name.
func (c *checker) checkService(s *format.Service, n *strict.Node) {
	name := n.Field("name")
	name.ErrorIf(s.Name == "", "is required: the metadata.name of a Service, or the name of a workload")
	object := c.findService(s, n)
	if s.Name == "" || object == nil {
		return
	}
	admitted, err := admission.AdmitService(object)
	if err != nil {
		name.Errorf("%s", err)
		return
	}
	key := admitted.Namespace + "/" + admitted.Name
	if c.scenario.Service(key) != nil {
		name.Errorf("the Service %s is already listed above", s.Name)
		return
	}
	c.checkEndpoints(admitted, name)
	routers := n.Field("routers")
	if len(s.Routers) == 0 {
		s.Routers = []format.Router{{Kind: format.KubeProxy}}
	}
	if !format.Fits(routers) {
		return
	}
	for i := range s.Routers {
		c.checkRouter(&s.Routers[i], routers.Index(i))
	}
	c.scenario.Services = append(c.scenario.Services, plan.Service{Spec: s, Object: object})
}

// checkEndpoints reports a Service that never has endpoints.
func (c *checker) checkEndpoints(s *v1.Service, name *strict.Node) {
	selected := slices.DeleteFunc(slices.Clone(c.workloads), func(w *workload) bool { return !selects(s, w.Pod) })
	switch {
	case s.Spec.Type == v1.ServiceTypeExternalName:
		name.Errorf("the Service %s is of type ExternalName, so it has no endpoints", s.Name)
	case len(s.Spec.Selector) == 0:
		name.Errorf("the Service %s has no selector, so it selects no pod", s.Name)
	case c.resolved() && len(selected) == 0:
		name.Errorf("the Service %s selects no pod of the scenario: its selector is %s", s.Name,
			labels.FormatLabels(s.Spec.Selector))
	case c.resolved() && !slices.ContainsFunc(selected,
		func(w *workload) bool { return hasAnyPort(w.Pod, s.Spec.Ports) }):
		name.Errorf("the Service %s has no endpoints: no container has a port of the name %s", s.Name,
			strict.Quote(s.Spec.Ports[0].TargetPort.StrVal))
	}
}

// hasAnyPort reports whether a pod has a port of a Service. A pod has each port that is a number.
func hasAnyPort(pod *v1.Pod, ports []v1.ServicePort) bool {
	named := map[string]bool{"": true}
	for c := range podutil.Containers(&pod.Spec) {
		for _, p := range c.Ports {
			named[p.Name] = true
		}
	}
	return len(ports) == 0 || slices.ContainsFunc(ports,
		func(p v1.ServicePort) bool { return named[p.TargetPort.StrVal] })
}

func selects(s *v1.Service, pod *v1.Pod) bool {
	return s.Namespace == pod.Namespace && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// findService returns the Service that an entry names, or nil after reporting why there is none.
func (c *checker) findService(s *format.Service, n *strict.Node) *v1.Service {
	f := c.file
	if s.File != "" {
		if f = c.open(n.Field("file"), s.File); f == nil {
			return nil
		}
	}
	if object, at := f.Service(s.Name); object != nil {
		if at.Bad() {
			return nil
		}
		object.Namespace = cmp.Or(object.Namespace, v1.NamespaceDefault)
		return object
	}
	if s.File != "" {
		n.Field("name").Errorf("there is no Service %s in %s%s", strict.Quote(s.Name), s.File,
			strict.OrList(s.Name, f.ServiceNames()))
		return nil
	}
	namespace, name := format.SplitName(s.Name)
	for _, w := range c.workloads {
		if w.Manifest.Name == name && (namespace == "" || namespace == w.Pod.Namespace) && len(w.Pod.Labels) > 0 {
			return &v1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.Pod.Namespace, Name: name},
				Spec:       v1.ServiceSpec{Selector: w.Pod.Labels, Ports: firstPort(w.Pod)},
			}
		}
	}
	n.Field("name").ErrorIf(c.resolved() && s.Name != "",
		"there is no Service and no workload %s in this file: set file%s", strict.Quote(s.Name),
		strict.OrList(s.Name, f.ServiceNames()))
	return nil
}

// firstPort returns the port of a Service that is made from a pod.
func firstPort(pod *v1.Pod) []v1.ServicePort {
	for _, c := range pod.Spec.Containers {
		if len(c.Ports) > 0 {
			return []v1.ServicePort{{Port: c.Ports[0].ContainerPort}}
		}
	}
	return []v1.ServicePort{{Port: 80}}
}

// checkRouter checks a router, and gives it the delays of its kind.
func (c *checker) checkRouter(r *format.Router, n *strict.Node) {
	kind := n.Field("kind")
	switch {
	case n.Bad():
		return
	case r.Kind == format.KubeProxy && (r.Add != nil || r.Remove != nil):
		n.Errorf("kube-proxy has no delays: set proxySync in controlPlane, or leave kind out for a load balancer of " +
			"your own")
	case r.Kind == format.KubeProxy && r.Name != "" && r.Name != format.KubeProxy:
		n.Field("name").Errorf("must be kube-proxy, or left out: each node has one")
	case r.Kind == format.KubeProxy:
	case r.Kind == "" && (r.Add == nil || r.Remove == nil):
		n.Errorf("needs kind, or add and remove: how long it takes until a pod gets requests, and until it gets none")
	case r.Kind == "" && r.Name == "":
		n.Errorf("needs a name")
	case r.Kind != "":
		if !slices.Contains(router.Names(), r.Kind) {
			kind.Errorf("there is no kind of router %s%s", strict.Quote(r.Kind), strict.OrList(r.Kind, router.Names()))
			return
		}
		known, _ := router.NamedLoadBalancer(r.Kind)
		if known.Syncs && r.Add == nil && r.Remove == nil {
			return
		}
		r.Add = cmp.Or(r.Add, &value.Draw{Min: known.AddLeast, Max: known.AddMost})
		r.Remove = cmp.Or(r.Remove, &value.Draw{Min: known.RemoveLeast, Max: known.RemoveMost})
	}
}

// checkTraffic checks a stream of requests.
func (c *checker) checkTraffic(t *format.Traffic, n *strict.Node) {
	const most = 1_000_000
	n.Field("rps").ErrorIf(t.RPS < 1 || t.RPS > most,
		"is required: the number of requests a second, from 1 to %d", most)
	s := c.serviceNamed(t.Service, n.Field("service"))
	if s == nil {
		return
	}
	names := printable.Words(s.Spec.Routers, func(r format.Router) string { return r.NameOr() })
	if t.Router == "" {
		t.Router = names[0]
	}
	serves := func(w *workload) bool { return selects(s.Object, w.Pod) && podutil.Find(w.Pod, t.Container) != nil }
	n.Field("container").ErrorIf(t.Container != "" && c.resolved() && !slices.ContainsFunc(c.workloads, serves),
		"no pod of the Service %s has a container %s", t.Service, strict.Quote(t.Container))
	n.Field("router").ErrorIf(!slices.Contains(names, t.Router), "the Service %s has no router %s%s", t.Service,
		strict.Quote(t.Router), strict.OrList(t.Router, names))
}

// serviceNamed returns the Service that a field names, or nil after reporting why there is none.
func (c *checker) serviceNamed(name string, n *strict.Node) *plan.Service {
	if n.Bad() || c.spec.Field("services").Bad() {
		return nil
	}
	n.ErrorIf(name == "", "is required: the name of a Service of the scenario")
	s := c.scenario.Service(name)
	names := printable.Words(c.scenario.Services, func(s plan.Service) string { return s.Spec.Name })
	n.ErrorIf(name != "" && s == nil, "spec.services has no Service %s%s", strict.Quote(name),
		strict.OrList(name, names))
	return s
}

// checkWorkload checks an expectation about the state of a Deployment.
func (c *checker) checkWorkload(e *format.Expect, n *strict.Node) {
	n.Refuse([]string{"pod", "container", "instance", "pods"}, "cannot be used with workload")
	if w := c.deployment(e.Workload, n); w != nil {
		e.Status.CheckWorkload(n.Field("status"))
		e.Becomes.CheckWorkload(n.Field("becomes"))
	}
	c.checkSince(e, n)
}

// checkLost checks an expectation about lost requests.
func (c *checker) checkLost(e *format.Expect, n *strict.Node) {
	n.Refuse([]string{"pod", "container", "instance", "pods", "count", "workload"},
		"cannot be used with lost")
	if !c.controlled() {
		n.Field("lost").Errorf("needs controlPlane, services and traffic")
		return
	}
	checkAny(n.Field("lost"), e.Lost)
	s := c.serviceNamed(e.Service, n.Field("service"))
	sends := func(t format.Traffic) bool { return c.scenario.Service(t.Service) == s }
	n.Field("service").ErrorIf(s != nil && !slices.ContainsFunc(c.scenario.Spec.Traffic, sends),
		"the Service %s gets no requests: add it to traffic", e.Service)
	c.checkSince(e, n)
}

// checkSince checks the moments from which the windows of an expectation about an object count.
func (c *checker) checkSince(e *format.Expect, n *strict.Node) {
	if e.Since == nil {
		return
	}
	since := n.Field("since")
	if e.Since.Pod == "" && !e.Since.OfNode() && !since.Bad() {
		since.Field("pod").Errorf("is required: the expectation is about no pod")
		return
	}
	c.checkAnchor(e, e.Since, since)
}
