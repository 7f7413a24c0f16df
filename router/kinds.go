package router

import "time"

// kind is a load balancer with delays from reports.
type kind struct {
	LoadBalancer
	source string
}

// kinds are load balancers whose delays are published. Reports say how long preStop had to sleep until nothing was lost, which is the time
// until a pod gets no requests; how long a new pod waits for requests is not published, and it loses none, so it is the same range.
var kinds = []kind{
	{balancer("ingress-nginx", 0, 3300*time.Millisecond), "rate limit of 0.3 reloads a second: kubernetes/ingress-nginx PR #1800"},
	{balancer("alb-ip", 5*time.Second, 40*time.Second), "5s of preStop are not enough: aws-load-balancer-controller#1064; 40s rarely lose, 70s lose none: #2106"},
	{balancer("alb-instance", 30*time.Second, 45*time.Second), "15s x 2 health checks, 30s of preStop are not enough and 45s are: quay#6871"},
	{balancer("neg", 10*time.Second, 60*time.Second), "the documentation of GKE asks for 60s: ingress-gce#769"},
}

func balancer(name string, least, most time.Duration) LoadBalancer {
	return LoadBalancer{Name: name, AddLeast: least, AddMost: most, RemoveLeast: least, RemoveMost: most}
}

// Named returns the load balancer of a kind.
func Named(name string) (LoadBalancer, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k.LoadBalancer, true
		}
	}
	return LoadBalancer{}, false
}

// Source returns where the delays of a kind come from.
func Source(name string) string {
	for _, k := range kinds {
		if k.Name == name {
			return k.source
		}
	}
	return ""
}

// Kinds returns the names of the kinds.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}
