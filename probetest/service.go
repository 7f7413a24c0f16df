package probetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/show/history"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/router"
	"probesim.dev/trace/traffic"
)

// Requests is a stream of requests to a Service. The zero value is one request a second through
// kube-proxy that takes no time.
type Requests struct {
	Rate float64 // a second; 0: 1
	// Least and Most bound how long a request takes. Most may be 0 if all take Least.
	Least, Most time.Duration
	// Router sends the requests to the pods: kube-proxy, or one of ControlPlane.LoadBalancers.
	// Empty: kube-proxy.
	Router string
	// Container serves the requests. Empty: a pod serves while any of its containers runs.
	Container string
	// Connections are those that clients keep open. The zero value: each request opens its own.
	Connections traffic.Connections
}

// Service is a Service that gets requests. AddService and ScenarioRun.Service return Services.
type Service struct {
	object
	streams []traffic.Entry
}

// AddService creates a Service through the API at the current virtual time, and sends requests to
// the pods that it selects, from the time on when a router has the first one, or from the first
// change of a Deployment on; all are lost if there is neither. The node needs
// NodeOptions.ControlPlane. Requests are new connections, evenly spread over the pods; requests
// over connections that clients keep open are not counted.
func (n *Node) AddService(s *v1.Service, requests ...Requests) *Service {
	n.tb().Helper()
	if !n.controlled("AddService", s == nil) {
		return nil
	}
	added := &Service{object: n.object("Service", s)}
	_, err := admission.AdmitService(s)
	for _, r := range requests {
		var entry traffic.Entry
		if entry, err = n.entry(added, r); err != nil {
			break
		}
		added.streams = append(added.streams, entry)
	}
	if err != nil {
		n.t.Fatalf("AddService: %s", err)
		return nil
	}
	s = s.DeepCopy()
	n.later("AddService of the "+added.String(), func() error {
		for _, entry := range added.streams {
			if err := n.sim.SendRequests(entry); err != nil {
				return err
			}
		}
		return n.sim.AddService(s)
	})
	return added
}

// entry returns a stream of requests, or an error if it is not possible.
func (n *Node) entry(s *Service, r Requests) (traffic.Entry, error) {
	routers := []string{router.KubeProxy}
	for _, of := range n.options.ControlPlane.LoadBalancers {
		routers = append(routers, of.Name)
	}
	name := cmp.Or(r.Router, router.KubeProxy)
	switch {
	case r.Rate < 0 || r.Least < 0 || r.Most < 0 || r.Most != 0 && r.Most < r.Least:
		return traffic.Entry{}, fmt.Errorf("the Requests %+v have a negative number, or take at most less than at "+
			"least", r)
	case !slices.Contains(routers, name):
		return traffic.Entry{}, fmt.Errorf("there is no router %q; the routers are: %s", name,
			strings.Join(routers, ", "))
	}
	return traffic.Entry{
		Service: s.key(), Router: name, Rate: cmp.Or(r.Rate, 1), Least: r.Least, Most: max(r.Least, r.Most),
		Container: r.Container, Connections: r.Connections,
	}, nil
}

// LostRequests returns how many requests are lost until the present time, or until the end of the
// run. Requests are a fluid, so it can be a fraction.
func (s *Service) LostRequests() float64 {
	sum := 0.0
	for _, l := range s.losses() {
		sum += l.Lost
	}
	return sum
}

// losses returns the losses of the Service, by router.
func (s *Service) losses() []history.Loss {
	if s == nil || s.log == nil {
		return nil
	}
	if s.node != nil {
		s.node.reached()
	}
	records := s.log.records
	if s.node != nil { // the records of a scenario have them
		records = append(slices.Clip(records), s.fold().Unserved(s.log.end)...)
	}
	var list []history.Loss
	for _, of := range history.Read(records, s.log.end).Services {
		for _, r := range of.Routers {
			if of.Name == s.key() {
				list = append(list, r.Losses...)
			}
		}
	}
	return list
}

// sent returns how many requests are sent to the Service.
func (s *Service) sent() float64 { return s.fold().Sent(s.log.end) }

// fold follows the requests to the Service again.
func (s *Service) fold() *traffic.Fold {
	f := traffic.New(s.streams...)
	for i := range s.log.records {
		f.Observe(&s.log.records[i])
	}
	return f
}
