package router

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/value"
)

// Named is a router besides kube-proxy, with the source of its delays.
type Named struct {
	LoadBalancer
	Source string
}

// named are the routers besides kube-proxy that have a name. Nobody publishes the distribution of
// the delays of a load balancer: the ends of a range are what public reports say, and the sources
// name the reports. The name of a project alone stands for its repository on GitHub.
var named = []Named{
	{LoadBalancer{Name: KubeProxy + "-ipvs", Syncs: true, KubeProxy: true},
		"kube-proxy in IPVS mode, without a minSyncPeriod by default (kubernetes pkg/proxy/apis/config/v1alpha1)"},
	{LoadBalancer{Name: KubeProxy + "-10s", Syncs: true, MinSync: 10 * time.Second, KubeProxy: true},
		"kube-proxy with minSyncPeriod 10s, as scripts of GKE had it (kubernetes-sigs/kind#1707)"},
	{LoadBalancer{Name: "cilium", Syncs: true, Gather: 500 * time.Millisecond},
		"Cilium instead of kube-proxy gathers changes for 500ms before it takes them over (cilium#46059)"},
	{LoadBalancer{Name: "ingress-nginx", Syncs: true, MinSync: time.Second * 10 / 3},
		"ingress-nginx syncs at most 0.3 times a second, all endpoints at once (its --sync-rate-limit; " +
			"ingress-nginx#1800); 1,000 ingresses take over 5s (#6079), 3,000 take minutes (#11046)"},
	{LoadBalancer{Name: "traefik", Syncs: true, MinSync: 2 * time.Second},
		"Traefik takes changes over at least 2s after those before (providersThrottleDuration; traefik#4452)"},
	{LoadBalancer{Name: "alb-ip", AddLeast: 5 * time.Second, AddMost: 30 * time.Second, RemoveLeast: 5 * time.Second,
		RemoveMost: 60 * time.Second},
		"AWS ALB with IP targets: a preStop sleep of 5s to 15s is too short, 25s to 70s is enough " +
			"(aws-load-balancer-controller#1064, #3270, alphagov/govuk-helm-charts#2202)"},
	{LoadBalancer{Name: "nlb-ip", AddLeast: 90 * time.Second, AddMost: 5 * time.Minute, RemoveLeast: 2 * time.Minute,
		RemoveMost: 5 * time.Minute},
		"AWS NLB with IP targets: a new target takes 90s to 180s, or 5m; new connections go to an old one for two " +
			"minutes (aws-load-balancer-controller#1834, #2366, aws/containers-roadmap#470)"},
	{LoadBalancer{Name: "neg", AddLeast: 2 * time.Second, AddMost: 60 * time.Second, RemoveLeast: 2 * time.Second,
		RemoveMost: 60 * time.Second},
		"GCP network endpoint groups: the documentation asks for 60s; 502 for 5s to a minute (ingress-gce#638, #2222)"},
}

// NamedLoadBalancer returns the router besides kube-proxy that has a name, and false if there is
// none.
func NamedLoadBalancer(name string) (Named, bool) {
	i := slices.IndexFunc(named, func(n Named) bool { return n.Name == name })
	if i < 0 {
		n, err := parse(name)
		return n, err == nil
	}
	return named[i], true
}

// parse returns a load balancer with its delays, such as "gateway: add 30s..40s, remove 40s". The
// whole text is its name.
func parse(text string) (Named, error) {
	n := Named{LoadBalancer{Name: text}, "as you say"}
	m := withDelays.FindStringSubmatch(text)
	switch {
	case strings.HasSuffix(text, "-instance"):
		return n, errors.New("its targets are nodes, so kube-proxy decides which pod gets a request: say kube-proxy")
	case m == nil:
		return n, fmt.Errorf("must be one of %s, or a load balancer such as 'gateway: add 30s..40s, remove 40s'",
			strings.Join(Names(), ", "))
	case m[1] == KubeProxy:
		return n, errors.New("kube-proxy has delays of its own: give the load balancer another name")
	}
	var add, remove value.Draw
	if err := add.UnmarshalText([]byte(m[2])); err != nil {
		return n, fmt.Errorf("add: %w", err)
	}
	if err := remove.UnmarshalText([]byte(m[3])); err != nil {
		return n, fmt.Errorf("remove: %w", err)
	}
	n.AddLeast, n.AddMost, n.RemoveLeast, n.RemoveMost = add.Min, add.Max, remove.Min, remove.Max
	return n, nil
}

// withDelays matches a load balancer: its name, and its delays.
var withDelays = regexp.MustCompile(`^\s*([^:\s][^:]*):\s*add (\S+)\s*,\s*remove (\S+)\s*$`)

// Short returns the name of a router without delays.
func Short(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return name
}

// Check returns an error unless a router has a name of Names, or is a load balancer with its
// delays.
func Check(name string) error {
	if slices.Contains(Names(), name) {
		return nil
	}
	_, err := parse(name)
	return err
}

// Names returns the names of all routers: kube-proxy, and then the load balancers.
func Names() []string {
	list := []string{KubeProxy}
	for _, n := range named {
		list = append(list, n.Name)
	}
	return list
}
