package rollout

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/workloads"
)

// target is a Service, and the container that serves its requests.
type target struct {
	*v1.Service
	container string
	counted   bool // its requests are
}

func (t *target) name() string   { return t.Namespace + "/" + t.Name }
func (t *target) headless() bool { return t.Spec.ClusterIP == v1.ClusterIPNone }

// service is a Service of the manifests.
type service struct {
	*v1.Service
	node *strict.Node
	used bool
}

// addService adds a Service, or reports that its file has one of its name before.
func (r *reader) addService(s *service) {
	i := slices.IndexFunc(r.services, func(o *service) bool {
		return o.Name == s.Name && o.Namespace == s.Namespace && o.node.Pos.File == s.node.Pos.File
	})
	if i < 0 {
		r.services = append(r.services, s)
		return
	}
	s.node.Find("metadata.name").Errorf("the Service %s is already defined in line %d", s.Name,
		r.services[i].node.Pos.Line)
}

// selectsNothing reports a Service without pods. A namespace that only one of two manifests has is
// easy to miss.
func (r *reader) selectsNothing(s *service) {
	for _, w := range r.workloads {
		if selects(s.Service, s.Namespace, w.spec.Spec.Template.Labels) {
			s.node.Find("metadata").Errorf("the Service selects no pod: it is in namespace %s, and Deployment %s is "+
				"in namespace %s", s.Namespace, w.spec.Name, w.spec.Namespace)
			return
		}
	}
	s.node.Find("spec.selector").Errorf("the Service selects no pod: no workload in the files has the labels %s",
		labels.SelectorFromSet(s.Spec.Selector))
}

// findServices finds the Services of a Deployment, and the containers that serve their requests.
// Each is counted unless the options name one, but a headless one only without others: kube-proxy
// has no part in its requests.
func (r *reader) findServices(w *workload) {
	containers := w.spec.Spec.Template.Spec.Containers
	w.main = containers[max(0, slices.IndexFunc(containers, func(c v1.Container) bool {
		return !workloads.IsProxy(&c)
	}))].Name
	for _, s := range r.services {
		if !selects(s.Service, w.spec.Namespace, w.spec.Spec.Template.Labels) {
			continue
		}
		if s.Spec.Type == v1.ServiceTypeExternalName {
			w.notes = append(w.notes, "requests to Service "+s.Name+
				", which is of type ExternalName and has no endpoints")
			continue
		}
		s.used, w.services = true, append(w.services, s.Name)
		w.targets = append(w.targets, target{Service: s.Service, container: w.containerOf(s),
			counted: r.o.Service == "" || r.o.Service == s.Name})
	}
	others := slices.ContainsFunc(w.targets, func(t target) bool { return t.counted && !t.headless() })
	w.targets = slices.DeleteFunc(w.targets, func(t target) bool {
		if t.headless() && others && t.counted {
			w.notes = append(w.notes, "requests to headless Service "+t.Name)
		}
		return t.headless() && (others || !t.counted)
	})
	for _, t := range w.counted() {
		for _, o := range r.workloads {
			if o != w && selects(t.Service, o.spec.Namespace, o.spec.Spec.Template.Labels) {
				w.notes = append(w.notes, fmt.Sprintf("Deployment %s, which gets a part of the requests to Service %s",
					o.spec.Name, t.Name))
			}
		}
	}
}

// counted returns the Services whose requests are counted.
func (w *workload) counted() (list []*target) {
	for i := range w.targets {
		if w.targets[i].counted {
			list = append(list, &w.targets[i])
		}
	}
	return list
}

// serve returns the containers that serve the requests that are counted: at least one, also without
// a Service.
func (w *workload) serve() (list []string) {
	for _, t := range w.counted() {
		if !slices.Contains(list, t.container) {
			list = append(list, t.container)
		}
	}
	if len(list) == 0 {
		list = []string{w.main}
	}
	return list
}

// serves reports whether a container serves requests, also of Services that are not counted.
func (w *workload) serves(container string) bool {
	return len(w.targets) == 0 && container == w.main || slices.ContainsFunc(w.targets,
		func(t target) bool { return t.container == container })
}

// selects reports whether a Service selects pods with some labels.
func selects(s *v1.Service, namespace string, of map[string]string) bool {
	return len(s.Spec.Selector) > 0 && s.Namespace == namespace &&
		labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(of))
}

// containerOf returns the container that the first port of a Service leads to, or the main one.
func (w *workload) containerOf(s *service) string {
	if len(s.Spec.Ports) == 0 {
		return w.main
	}
	port := s.Spec.Ports[0].TargetPort
	has := func(c v1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool {
			return port.Type == intstr.String && p.Name == port.StrVal ||
				port.Type == intstr.Int && p.ContainerPort == port.IntVal
		})
	}
	pod := &w.spec.Spec.Template.Spec
	if i := slices.IndexFunc(pod.Containers, has); i >= 0 {
		return pod.Containers[i].Name
	}
	if i := slices.IndexFunc(pod.InitContainers, has); i >= 0 {
		w.notes = append(w.notes, fmt.Sprintf("Service %s leads to the sidecar %s, which gets SIGTERM only when the "+
			"other containers have ended", s.Name, pod.InitContainers[i].Name))
	} else if port.Type == intstr.String {
		s.node.Find("spec.ports[0].targetPort").
			Errorf("no container of Deployment %s has a port of the name %s, so the Service has no endpoints for it",
				w.spec.Name, strict.Quote(port.StrVal))
	} else if len(pod.Containers) > 1 && port.IntVal != 0 {
		w.notes = append(w.notes, fmt.Sprintf("which container listens at port %d of Service %s: none has it among "+
			"its ports, and %s is taken", port.IntVal, s.Name, w.main))
	}
	return w.main
}
