package router

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/value"
)

// Named is a load balancer with the source of its delays.
type Named struct {
	LoadBalancer
	Source string
}

// named are the load balancers that have a name. Nobody publishes the distribution of their delays:
// the ends of a range are what public reports say, and the sources name the reports. The name of a
// project alone stands for its repository on GitHub.
var named = []Named{
	{LoadBalancer{"kube-proxy-10s", 100 * time.Millisecond, 10300 * time.Millisecond, 100 * time.Millisecond,
		10300 * time.Millisecond},
		"kube-proxy with minSyncPeriod 10s, as scripts of GKE had it (kubernetes-sigs/kind#1707)"},
	{LoadBalancer{"ingress-nginx", 0, 3300 * time.Millisecond, 0, 3300 * time.Millisecond},
		"ingress-nginx reloads at most 0.3 times a second (ingress-nginx#1800); 1,000 ingresses take over 5s " +
			"(#6079), 3,000 take minutes (#11046)"},
	{LoadBalancer{"traefik", 0, 2 * time.Second, 0, 2 * time.Second},
		"Traefik takes a change over at least 2s after the one before (providersThrottleDuration); 502 and 504 in " +
			"updates (traefik#4452)"},
	{LoadBalancer{"alb-ip", 5 * time.Second, 30 * time.Second, 5 * time.Second, 60 * time.Second},
		"AWS ALB with IP targets: a preStop sleep of 5s to 15s is too short, 25s to 70s is enough " +
			"(aws-load-balancer-controller#1064, #2106, alphagov/govuk-helm-charts#2202)"},
	{LoadBalancer{"alb-instance", 15 * time.Second, 45 * time.Second, 15 * time.Second, 45 * time.Second},
		"AWS ALB with health checks of 2 x 15s: a preStop sleep of 30s is too short, 45s is enough (quay#6871)"},
	{LoadBalancer{"neg", 10 * time.Second, 60 * time.Second, 10 * time.Second, 60 * time.Second},
		"GCP network endpoint groups: the documentation asks for 60s; 502 for about a minute (ingress-gce#769, #2222)"},
}

// NamedLoadBalancer returns the load balancer of a name, and false if there is none.
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
	name, delays, found := strings.Cut(text, ":")
	parts := strings.Split(delays, ",")
	switch {
	case !found || len(parts) != 2:
		return n, fmt.Errorf("must be one of %s, or a load balancer such as 'gateway: add 30s..40s, remove 40s'",
			strings.Join(Names(), ", "))
	case strings.TrimSpace(name) == "":
		return n, errors.New("the load balancer needs a name, as in 'gateway: add 30s..40s, remove 40s'")
	case name == KubeProxy:
		return n, errors.New("kube-proxy has delays of its own: give the load balancer another name")
	}
	for i, word := range []string{"add", "remove"} {
		delay, found := strings.CutPrefix(strings.TrimSpace(parts[i]), word+" ")
		if !found {
			return n, fmt.Errorf("%q is not the delay %s of a load balancer, as in 'gateway: add 30s..40s, remove 40s'",
				strings.TrimSpace(parts[i]), word)
		}
		var d value.Draw
		if err := d.UnmarshalText([]byte(strings.TrimSpace(delay))); err != nil {
			return n, fmt.Errorf("%s: %w", word, err)
		}
		if word == "add" {
			n.AddLeast, n.AddMost = d.Min, d.Max
		} else {
			n.RemoveLeast, n.RemoveMost = d.Min, d.Max
		}
	}
	return n, nil
}

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
