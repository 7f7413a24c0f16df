package plan

import (
	"cmp"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/router"
	"probesim.dev/node"
	"probesim.dev/scenarios/format"
	"probesim.dev/trace/traffic"
)

// ControlPlane returns the control plane of a run, or nil if the scenario has none.
func (p *Plan) ControlPlane() *node.ControlPlane {
	s := p.Scenario
	of := s.Spec.ControlPlane
	if of == nil {
		return nil
	}
	draw := func(d *value.Draw) *fakeruntime.Draw { return (*fakeruntime.Draw)(d) }
	control := &node.ControlPlane{Watch: draw(of.Watch), Call: draw(of.APIWrite), Schedule: draw(of.Schedule),
		Sync: draw(of.ProxySync)}
	if set, ok := fakeruntime.ControlDelaySet(cmp.Or(of.Set, p.Set)); ok {
		control.Delays = &set
	}
	for i := range s.Services {
		for _, r := range s.Services[i].Spec.Routers {
			if r.Kind != format.KubeProxy {
				of, _ := router.NamedLoadBalancer(r.Kind)
				of.Name = r.NameOr()
				if r.Add != nil {
					of.LoadBalancer = router.LoadBalancer{Name: r.NameOr(), AddLeast: r.Add.Min, AddMost: r.Add.Max,
						RemoveLeast: r.Remove.Min, RemoveMost: r.Remove.Max}
				}
				control.LoadBalancers = append(control.LoadBalancers, of.LoadBalancer)
			}
		}
	}
	for _, t := range s.Spec.Traffic {
		service := s.Service(t.Service)
		entry := traffic.Entry{Service: service.Key(), Router: t.Router, Rate: float64(t.RPS), Container: t.Container}
		if t.Latency != nil {
			entry.Least, entry.Most = t.Latency.Min, t.Latency.Max
		}
		if t.Connections != nil {
			entry.Connections = *t.Connections
		}
		control.Traffic = append(control.Traffic, entry)
	}
	return control
}
