package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/router"
)

// front is an object of the files through which requests from outside come to Services.
type front struct {
	kind, namespace, name string
	at                    strict.Pos
	services              []string // their names
	class                 string
	gateways              []string // of a route, whose class counts
	annotations           map[string]string
}

// String names the object for people.
func (f *front) String() string {
	return fmt.Sprintf("%s %s (%s:%d)", f.kind, f.name, f.at.File, f.at.Line)
}

// controllers are the classes of IngressClasses, by the controller that an object in the files
// names.
var controllers = map[string]string{
	"k8s.io/ingress-nginx": "nginx", "traefik.io/ingress-controller": "traefik", "ingress.k8s.aws/alb": "alb",
}

// route is what counts of an HTTPRoute, a GRPCRoute, a TCPRoute or a TLSRoute, and gateway of a
// Gateway (gateway.networking.k8s.io/v1).
type (
	route struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			ParentRefs []struct{ Name string }
			Rules      []struct{ BackendRefs []struct{ Kind, Name string } }
		}
	}
	gateway struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct{ GatewayClassName string }
	}
)

// fronts are the objects in front of Services.
type fronts struct {
	list     []*front
	gateways map[string]string // classes by namespace/name
	classes  map[string]string // of Ingresses, by the name of an IngressClass
}

// read adds the objects of a file.
func (f *fronts) read(objects *manifests.Objects) {
	if f.gateways == nil {
		f.gateways, f.classes = map[string]string{}, map[string]string{}
	}
	for _, c := range readAll[networkingv1.IngressClass](objects.OfKind("networking.k8s.io/v1", "IngressClass")) {
		f.classes[c.Name] = controllers[c.Spec.Controller]
	}
	for _, n := range objects.OfKind("networking.k8s.io/v1", "Ingress") {
		f.addIngress(n)
	}
	for _, version := range []string{"v1", "v1beta1", "v1alpha2", "v1alpha3"} {
		group := "gateway.networking.k8s.io/" + version
		for _, g := range readAll[gateway](objects.OfKind(group, "Gateway")) {
			f.gateways[namespaceOf(g.Namespace)+"/"+g.Name] = g.Spec.GatewayClassName
		}
		for _, kind := range []string{"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute"} {
			for _, n := range objects.OfKind(group, kind) {
				f.addRoute(kind, n)
			}
		}
	}
}

func namespaceOf(name string) string { return cmp.Or(name, metav1.NamespaceDefault) }

// addIngress adds an Ingress.
func (f *fronts) addIngress(n *strict.Node) {
	var i networkingv1.Ingress
	if json.Unmarshal(n.JSON(), &i) != nil {
		return
	}
	own := &front{kind: "Ingress", namespace: namespaceOf(i.Namespace), name: i.Name, at: n.Pos,
		class: i.Annotations["kubernetes.io/ingress.class"], annotations: i.Annotations}
	if i.Spec.IngressClassName != nil {
		own.class = *i.Spec.IngressClassName
	}
	add := func(b *networkingv1.IngressBackend) {
		if b != nil && b.Service != nil {
			own.services = append(own.services, b.Service.Name)
		}
	}
	add(i.Spec.DefaultBackend)
	for _, rule := range i.Spec.Rules {
		if rule.HTTP != nil {
			for j := range rule.HTTP.Paths {
				add(&rule.HTTP.Paths[j].Backend)
			}
		}
	}
	f.list = append(f.list, own)
}

// addRoute adds a route of the Gateway API.
func (f *fronts) addRoute(kind string, n *strict.Node) {
	var r route
	if json.Unmarshal(n.JSON(), &r) != nil {
		return
	}
	own := &front{kind: kind, namespace: namespaceOf(r.Namespace), name: r.Name, at: n.Pos, annotations: r.Annotations}
	for _, p := range r.Spec.ParentRefs {
		own.gateways = append(own.gateways, own.namespace+"/"+p.Name)
	}
	for _, rule := range r.Spec.Rules {
		for _, b := range rule.BackendRefs {
			if b.Kind == "" || b.Kind == "Service" {
				own.services = append(own.services, b.Name)
			}
		}
	}
	f.list = append(f.list, own)
}

// way is how requests come to a Deployment: through a router, or through something that is not
// simulated.
type way struct {
	of      string   // the object, for people
	router  string   // empty: it is not simulated
	because []string // what in the object says so
}

// ways returns the ways to the Services of a Deployment from outside, without those that are
// kube-proxy's.
func (f *fronts) ways(w *workload) (list []way) {
	for _, t := range w.counted() {
		if own, is := balancerOf(t.Service); is {
			list = append(list, own)
		}
		for _, in := range f.list {
			if in.namespace == namespaceOf(t.Namespace) && slices.Contains(in.services, t.Name) {
				list = append(list, f.through(in, t.Service))
			}
		}
	}
	return list
}

// through returns the way that an object in front of a Service makes.
func (f *fronts) through(in *front, s *v1.Service) way {
	class, to := in.class, way{of: in.String()}
	if len(in.gateways) > 0 {
		class = f.gateways[in.gateways[0]]
	}
	if class != "" {
		to.because = []string{"class " + class}
	}
	if c := f.classes[class]; c != "" {
		class = c
	}
	nodes := func(because string) {
		to.router, to.because = router.KubeProxy, append(to.because, because)
	}
	says := func(on map[string]string, key, value string) bool { return strings.EqualFold(on[key], value) }
	switch {
	case class == "nginx" && len(in.gateways) == 0:
		to.router = "ingress-nginx"
		if says(in.annotations, "nginx.ingress.kubernetes.io/service-upstream", "true") {
			nodes("service-upstream")
		}
	case class == "traefik":
		to.router = "traefik"
		if says(s.Annotations, "traefik.ingress.kubernetes.io/service.nativelb", "true") {
			nodes("nativelb")
		}
	case class == "alb":
		const key = "alb.ingress.kubernetes.io/target-type"
		if says(s.Annotations, key, "ip") || s.Annotations[key] == "" && says(in.annotations, key, "ip") {
			to.router, to.because = "alb-ip", append(to.because, "target-type ip")
		} else {
			nodes("target-type instance, so its targets are nodes")
		}
	case class == "gce", class == "gce-internal", strings.HasPrefix(class, "gke-l7"):
		to.router = "neg"
		if strings.Contains(strings.ReplaceAll(s.Annotations["cloud.google.com/neg"], " ", ""), `"ingress":false`) {
			nodes("without network endpoint groups, so its targets are nodes")
		}
	case class == "" && len(in.gateways) > 0:
		to.because = []string{"its Gateway is not in the files"}
	case class == "":
		to.because = []string{"it names no class, so the default one of the cluster counts"}
	}
	return to
}

// balancerOf returns the way through the load balancer of a Service, if it is not kube-proxy's.
func balancerOf(s *v1.Service) (way, bool) {
	if s.Spec.Type != v1.ServiceTypeLoadBalancer {
		return way{}, false
	}
	const aws = "service.beta.kubernetes.io/aws-load-balancer-"
	if s.Annotations[aws+"nlb-target-type"] == "ip" || s.Annotations[aws+"type"] == "nlb-ip" {
		return way{"Service " + s.Name, "nlb-ip", []string{"type LoadBalancer, an NLB with IP targets"}}, true
	}
	return way{}, false
}

// findWay chooses the router of a Deployment: that of the options, or the slowest one that the
// files put in front, or kube-proxy. It doubts the ways that are not simulated.
func (r *reader) findWay(w *workload) {
	w.router = Router{Name: r.o.Router}
	if r.o.Router != "" {
		return
	}
	w.router.Name = router.KubeProxy
	slowest, ways := time.Duration(0), r.fronts.ways(w)
	for _, way := range ways {
		lb, _ := router.NamedLoadBalancer(way.router)
		if takes := lb.RemoveMost + lb.MinSync; way.router != "" && (slowest == 0 || takes > slowest) {
			slowest = takes
			w.router = Router{Name: way.router, From: way.of, Because: strings.Join(way.because, ", ")}
		}
	}
	for _, way := range ways {
		if way.router == "" {
			w.doubt("%s is in front, and how long it takes to follow the pods is not known: %s. The figures are those "+
				"of %s. If you have measured it, say --router 'gateway: add 5s, remove 5s'.", way.of,
				strings.Join(way.because, ", "), w.router.Name)
		}
	}
}
