package rollout_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/show/document"
)

// web is a Deployment with a Service that has more in its metadata and its spec.
func web(metadata, spec string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: example.com/web:1, ports: [{containerPort: 8080}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web%s}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]%s}
---
`, metadata, spec)
}

func ingress(metadata, spec string) string {
	return fmt.Sprintf(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front%s}
spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]%s}
`, metadata, spec)
}

func httpRoute(class string) string {
	text := `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: front}
spec: {parentRefs: [{name: entry}], rules: [{backendRefs: [{name: web, port: 80}]}]}
`
	if class != "" {
		text += "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: entry}\n" +
			"spec: {gatewayClassName: " + class + "}\n"
	}
	return text
}

// The router is the one that the files put in front of the Service: the place says where.
func TestFronts(t *testing.T) {
	const alb = ", ingressClassName: alb"
	annotation := func(key, value string) string { return fmt.Sprintf(", annotations: {%s: '%s'}", key, value) }
	const aws, gcp = "service.beta.kubernetes.io/aws-load-balancer-", "cloud.google.com/neg"
	for _, c := range []struct{ name, file, router, says string }{
		{"nothing", web("", ""), "kube-proxy", ""},
		{"alb, ip", web("", "") + ingress(annotation("alb.ingress.kubernetes.io/target-type", "ip"), alb), "alb-ip",
			"Ingress front (web.yaml:15) leads through alb-ip: class alb, target-type ip"},
		{"alb, ip by its Service", web(annotation("alb.ingress.kubernetes.io/target-type", "ip"), "") +
			ingress("", alb), "alb-ip", "target-type ip"},
		{"alb, instance by default", web("", "") + ingress("", alb), "kube-proxy",
			"leads through kube-proxy: class alb, target-type instance, so its targets are nodes"},
		{"nginx by an annotation", web("", "") + ingress(annotation("kubernetes.io/ingress.class", "nginx"), ""),
			"ingress-nginx", "class nginx"},
		{"nginx with service-upstream", web("", "") + ingress(
			annotation("nginx.ingress.kubernetes.io/service-upstream", "true"), ", ingressClassName: nginx"),
			"kube-proxy", "class nginx, service-upstream"},
		{"a class of another name", web("", "") + ingress("", ", ingressClassName: public") + "---\n" +
			"apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: public}\n" +
			"spec: {controller: k8s.io/ingress-nginx}\n", "ingress-nginx", "class public"},
		{"traefik", web("", "") + ingress("", ", ingressClassName: traefik"), "traefik", "class traefik"},
		{"gce", web("", "") + ingress("", ", ingressClassName: gce"), "neg", "class gce"},
		{"gce without groups", web(annotation(gcp, `{"ingress": false}`), "") + ingress("", ", ingressClassName: gce"),
			"kube-proxy", "without network endpoint groups"},
		{"an unknown class", web("", "") + ingress("", ", ingressClassName: haproxy"), "kube-proxy",
			"Ingress front (web.yaml:15) is in front, and how long it takes to follow the pods is not known: class " +
				"haproxy"},
		{"no class", web("", "") + ingress("", ""), "kube-proxy", "it names no class"},
		{"an old Ingress", web("", "") + "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: front, " +
			"annotations: {kubernetes.io/ingress.class: nginx}}\n" +
			"spec: {rules: [{http: {paths: [{backend: {serviceName: web, servicePort: 80}}]}}]}\n",
			"ingress-nginx", "class nginx"},
		{"another Service", web("", "") +
			strings.Replace(ingress("", alb), "service: {name: web", "service: {name: api", 1),
			"kube-proxy", ""},
		{"a gateway of GKE", web("", "") + httpRoute("gke-l7-global-external-managed"), "neg", "HTTPRoute front"},
		{"another gateway", web("", "") + httpRoute("envoy"), "kube-proxy", "class envoy"},
		{"a gateway that is not there", web("", "") + httpRoute(""), "kube-proxy", "its Gateway is not in the files"},
		{"a gateway of another namespace", web("", "") + strings.NewReplacer("{name: entry}], ",
			"{name: entry, namespace: edge}], ", "metadata: {name: entry}", "metadata: {name: entry, namespace: edge}").
			Replace(httpRoute("gke-l7-gxlb")), "neg", "class gke-l7-gxlb"},
		{"a route of another namespace", web("", "") + strings.NewReplacer(
			"{name: front}", "{name: front, namespace: edge}",
			"{name: web, port: 80}", "{name: web, namespace: default, port: 80}", "metadata: {name: entry}",
			"metadata: {name: entry, namespace: edge}").Replace(httpRoute("envoy")), "kube-proxy", "class envoy"},
		{"a route of a mesh", web("", "") +
			strings.Replace(httpRoute(""), "{name: entry}", "{kind: Service, name: web}", 1), "kube-proxy",
			"its parent is a Service, so a mesh decides"},
		{"two gateways", web("", "") + strings.Replace(httpRoute("gke-l7-gxlb"), "{name: entry}",
			"{name: other}, {name: entry}", 1), "neg", "its Gateway is not in the files"},
		{"a backend that is not there", web("", "") +
			strings.Replace(ingress("", alb), "service: {name: web", "service: {name: api", 1), "kube-proxy",
			"Not rolled out: what Ingress front (web.yaml:15) leads to (Service api is not in the files)"},
		{"a backend without pods", web("", "") +
			strings.Replace(ingress("", alb), "service: {name: web", "service: {name: api", 1) + "---\n" +
			"apiVersion: v1\nkind: Service\nmetadata: {name: api}\n" +
			"spec: {selector: {app: api}, ports: [{port: 80}]}\n", "kube-proxy",
			"leads to (Service api selects no pod in the files)"},
		{"a canary", web("", "") + "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: web}\n" +
			"spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n", "kube-proxy",
			"Canary web (web.yaml:15) has the Deployment in spec.targetRef: its controller decides"},
		{"the gate of a namespace", web(annotation(aws+"nlb-target-type", "ip"), ", type: LoadBalancer") +
			"apiVersion: v1\nkind: Namespace\n" +
			"metadata: {name: default, labels: {elbv2.k8s.aws/pod-readiness-gate-inject: enabled}}\n", "nlb-ip",
			"its readiness gate (elbv2.k8s.aws/pod-readiness-gate-inject of Namespace default), up to 5m"},
		{"the gate of GKE", web("", "") + ingress("", ", ingressClassName: gce"), "neg",
			"readiness gate (cloud.google.com/load-balancer-neg-ready), up to 1m"},
		{"a load balancer to nodes", web("", ", type: LoadBalancer"), "kube-proxy", ""},
		{"an NLB to pods", web(annotation(aws+"nlb-target-type", "ip"), ", type: LoadBalancer"), "nlb-ip",
			"Service web leads through nlb-ip"},
		{"an Envoy of Cilium", web(annotation("service.cilium.io/lb-l7", "enabled"), ""), "kube-proxy",
			"The Envoy of Cilium is in front, and how long it takes to follow the pods is not known"},
		{"local traffic", web("", ", internalTrafficPolicy: Local"), "kube-proxy", "internalTrafficPolicy Local"},
		{"the same zone", web("", ", trafficDistribution: PreferClose"), "kube-proxy", "in their own zone"},
		{"topology", web(annotation("service.kubernetes.io/topology-mode", "Auto"), ""), "kube-proxy",
			"topology-mode Auto"},
		{"a mesh", web("", "") + "apiVersion: v1\nkind: Namespace\n" +
			"metadata: {name: default, labels: {istio-injection: enabled}}\n", "kube-proxy",
			"Istio adds a proxy (istio-injection of Namespace default)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := rollout.Run([]input.File{{Name: "web.yaml", Data: []byte(c.file)}}, nil,
				rollout.Options{Rate: 100, Runs: 1, Delays: "typical"})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Workloads[0].Router.Name; got != c.router {
				t.Errorf("router %s, want %s", got, c.router)
			}
			var b bytes.Buffer
			render.Document(r).Write(&b, "text", document.Options{})
			if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, c.says) {
				t.Errorf("does not say %q:\n%s", c.says, text)
			}
		})
	}
}
