package router

import (
	"slices"
	"time"
)

// Named is a load balancer with the source of its delays.
type Named struct {
	LoadBalancer
	Source string
}

// named are the load balancers that have a name. Nobody publishes the distribution of their delays: the ends of a range are what public
// reports say, and the sources name the reports. The name of a project alone stands for its repository on GitHub.
var named = []Named{
	{LoadBalancer{"kube-proxy-10s", 100 * time.Millisecond, 10300 * time.Millisecond, 100 * time.Millisecond, 10300 * time.Millisecond},
		"kube-proxy with minSyncPeriod 10s, as scripts of GKE had it (kubernetes-sigs/kind#1707)"},
	{LoadBalancer{"ingress-nginx", 0, 3300 * time.Millisecond, 0, 3300 * time.Millisecond},
		"ingress-nginx reloads at most 0.3 times a second (ingress-nginx#1800); 1,000 ingresses take over 5s (#6079), 3,000 take minutes (#11046)"},
	{LoadBalancer{"alb-ip", 5 * time.Second, 30 * time.Second, 5 * time.Second, 60 * time.Second},
		"AWS ALB with IP targets: a preStop sleep of 5s to 15s is too short, 25s to 70s is enough (aws-load-balancer-controller#1064, #2106, alphagov/govuk-helm-charts#2202)"},
	{LoadBalancer{"alb-instance", 15 * time.Second, 45 * time.Second, 15 * time.Second, 45 * time.Second},
		"AWS ALB with health checks of 2 x 15s: a preStop sleep of 30s is too short, 45s is enough (quay#6871)"},
	{LoadBalancer{"neg", 10 * time.Second, 60 * time.Second, 10 * time.Second, 60 * time.Second},
		"GCP network endpoint groups: the documentation asks for 60s; 502 for about a minute (ingress-gce#769, #2222)"},
}

// NamedLoadBalancer returns the load balancer of a name, and false if there is none.
func NamedLoadBalancer(name string) (Named, bool) {
	i := slices.IndexFunc(named, func(n Named) bool { return n.Name == name })
	if i < 0 {
		return Named{}, false
	}
	return named[i], true
}

// Names returns the names of all routers: kube-proxy, and then the load balancers.
func Names() []string {
	list := []string{KubeProxy}
	for _, n := range named {
		list = append(list, n.Name)
	}
	return list
}
