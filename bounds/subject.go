package bounds

import (
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Subject is a container whose bounds to find. The other containers of its pod are healthy.
type Subject struct {
	Profile   profile.Profile
	Container string

	pod     *v1.Pod
	program fakeruntime.Pod
}

// NewSubject returns the subject for a container of an object that creates pods, such as a Pod or a Deployment. It returns an
// error if the API server would reject the object, and if the pods do not have the container.
func NewSubject(object scenarios.Object, container string, p profile.Profile) (*Subject, error) {
	planned, err := scenarios.Compile(object, nil, scenarios.CompileOptions{Profile: p})
	switch {
	case err != nil:
		return nil, err
	case len(planned) == 0:
		return nil, fmt.Errorf("%s creates no pods", object.GetName())
	case podutil.Find(planned[0].Pod, container) == nil:
		return nil, fmt.Errorf("the pods of %s have no container %q", object.GetName(), container)
	}
	return &Subject{Profile: p, Container: container, pod: planned[0].Pod, program: planned[0].Program}, nil
}

// Environment is what differs between nodes. The pod is added at t=0.
type Environment struct {
	Uptime time.Duration      // age of the kubelet at t=0
	Delays fakeruntime.Delays // latencies of the node
}

// horizon is the virtual time after which a run ends without a result.
const horizon = 6 * time.Hour

// slice is the virtual time between two checks whether a run is over.
const slice = 5 * time.Second

// run simulates the pod in an environment. The rules follow the subject's own and win over them. The run ends at the first record
// for which over returns true. If there is none before the horizon, run returns an error.
func (s *Subject) run(e Environment, rules []fakeruntime.Rule, over func(*trace.Record) bool) (history, error) {
	n := node.New(node.Options{Profile: s.Profile, Uptime: &e.Uptime, Delays: e.Delays})
	defer n.Close()
	var last int64
	n.Observe(func(r *trace.Record) {
		if last == 0 && over(r) {
			last = r.Step
		}
	})
	var refused error
	n.At(0, func() { refused = n.AddPod(s.pod, s.with(rules)) })
	for last == 0 && refused == nil {
		if n.Now() >= virtual.At(horizon) {
			return nil, fmt.Errorf("nothing happens to container %s within %v", s.Container, horizon)
		}
		if err := n.RunUntil(n.Now().Add(slice)); err != nil {
			return nil, err
		}
	}
	return n.Trace().Records()[:last], refused
}

// with returns the programs of the pod with further rules for the subject.
func (s *Subject) with(rules []fakeruntime.Rule) fakeruntime.Pod {
	p := s.program
	p.Containers = maps.Clone(s.program.Containers)
	if p.Containers == nil {
		p.Containers = map[string]fakeruntime.ContainerConfig{}
	}
	c := p.Containers[s.Container]
	c.Program.Rules = append(c.Program.Rules[:len(c.Program.Rules):len(c.Program.Rules)], rules...)
	p.Containers[s.Container] = c
	return p
}

// probe returns the probe of a type, or nil.
func (s *Subject) probe(p trace.Probe) *v1.Probe {
	c := podutil.Find(s.pod, s.Container)
	switch p {
	case trace.Liveness:
		return c.LivenessProbe
	case trace.Readiness:
		return c.ReadinessProbe
	}
	return c.StartupProbe
}

// started reports whether the container starts.
func (s *Subject) started(r *trace.Record) bool {
	return r.Kind == trace.ContainerStarted && r.Container == s.Container
}

// stopped reports whether the container gets the stop signal.
func (s *Subject) stopped(r *trace.Record) bool {
	return r.Kind == trace.ContainerStopping && r.Container == s.Container
}

// ready and unready report whether a status in the API says that the container is or is not ready.
func (s *Subject) ready(r *trace.Record) bool   { return s.patched(r, true) }
func (s *Subject) unready(r *trace.Record) bool { return s.patched(r, false) }

func (s *Subject) patched(r *trace.Record, ready bool) bool {
	if r.Kind != trace.StatusPatched || r.Status == nil {
		return false
	}
	for i := range r.Status.Containers {
		if c := &r.Status.Containers[i]; c.Name == s.Container {
			return c.Ready == ready
		}
	}
	return false
}
