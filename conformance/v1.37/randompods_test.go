package main

import (
	"math/rand/v2"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// randomPods generates pods. The API server rejects most of them.
type randomPods struct {
	*rand.Rand
	wild int // percentage of the draws that may be invalid
}

func newRandomPods(seed uint64) randomPods {
	r := randomPods{Rand: rand.New(rand.NewPCG(seed, 0))}
	r.wild = []int{3, 10, 30, 100}[r.IntN(4)]
	return r
}

// rarely reports true once in n calls, on average.
func (r randomPods) rarely(n int) bool { return r.IntN(n) == 0 }

func (r randomPods) isWild() bool { return r.IntN(100) < r.wild }

// one returns the first value, which is mostly a valid one. If the draw is wild, it returns any of
// the values.
func one[T any](r randomPods, values ...T) T {
	if !r.isWild() {
		return values[0]
	}
	return values[r.IntN(len(values))]
}

func (r randomPods) pod() *v1.Pod {
	p := &v1.Pod{}
	p.Name = one(r, "web", "web", "web", "", "Web", "a.b", strings.Repeat("a", 254))
	p.Namespace = one(r, "", "", "prod", "a.b", "X")
	p.UID = "x"
	if r.rarely(4) {
		p.Labels = map[string]string{one(r, "a", "a/b", "a b", "A.b/c"): one(r, "", "x", "-", "a b")}
	}
	if r.rarely(6) {
		p.Annotations = map[string]string{one(r, "a", "?"): "b c"}
	}
	for range one(r, 1+r.IntN(3), 0) {
		p.Spec.Containers = append(p.Spec.Containers, r.container("abc"[len(p.Spec.Containers):], ""))
	}
	for range r.IntN(3) {
		policy := v1.ContainerRestartPolicyAlways
		if r.rarely(3) {
			policy = ""
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, r.container("de"[len(p.Spec.InitContainers):], policy))
	}
	r.fill(&p.Spec)
	return p
}

func (r randomPods) fill(s *v1.PodSpec) {
	s.RestartPolicy = one[v1.RestartPolicy](r, "", "", "Always", "Never", "OnFailure", "always")
	s.DNSPolicy = one[v1.DNSPolicy](r, "", "", "Default")
	if r.rarely(3) {
		s.TerminationGracePeriodSeconds = new(one[int64](r, 5, 0, -1, 600))
	}
	if r.rarely(6) {
		s.ActiveDeadlineSeconds = new(one[int64](r, 5, 0, -1, 1<<31))
	}
	s.Hostname, s.Subdomain = one(r, "", "", "a"), one(r, "", "", "a")
	s.NodeName, s.ServiceAccountName, s.PriorityClassName = one(r, "", "", "n"), one(r, "", "", "sa"),
		one(r, "", "", "p")
	if r.rarely(6) {
		s.ReadinessGates = []v1.PodReadinessGate{{ConditionType: one[v1.PodConditionType](r, "a", "a/b", "", "?")}}
	}
}

// container returns a container whose name is the first letter of names. If policy is not empty,
// the container has this restart policy.
func (r randomPods) container(names string, policy v1.ContainerRestartPolicy) v1.Container {
	digest := "@sha256:" + strings.Repeat("a", 64)
	c := v1.Container{
		Name:  one(r, names[:1], "a", "b", "c", "", "A", "a.b", "x-"),
		Image: one(r, "x:1", "x", "x:latest", "r:5/x", "r:5/x:2", "x"+digest, "x:latest"+digest),
	}
	c.ImagePullPolicy = one[v1.PullPolicy](r, "", "", "", "Always", "sometimes")
	c.TerminationMessagePolicy = one[v1.TerminationMessagePolicy](r, "", "", "", "File")
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = r.probe(), r.probe(), r.probe()
	if r.rarely(4) {
		for range 1 + r.IntN(3) {
			c.Ports = append(c.Ports, r.port())
		}
	}
	if r.rarely(4) {
		c.Env = []v1.EnvVar{{Name: one(r, "A", "a b"), Value: "x"}}
	}
	if r.isWild() {
		policy = one[v1.ContainerRestartPolicy](r, "", "Always", "Never", "OnFailure", "X")
	}
	if policy == "" && r.rarely(4) {
		policy = one[v1.ContainerRestartPolicy](r, "Never", "OnFailure", "Always", "")
		for range one(r, 1+r.IntN(2), 0, 21) {
			c.RestartPolicyRules = append(c.RestartPolicyRules, r.restartRule())
		}
	}
	if policy != "" {
		c.RestartPolicy = &policy
	}
	if r.rarely(8) {
		c.Lifecycle = r.lifecycle()
	}
	if r.rarely(3) {
		c.Resources = r.resources()
		c.ResizePolicy = r.resizePolicies()
	}
	return c
}

// resources returns requests, mostly with limits that are at least as high.
func (r randomPods) resources() v1.ResourceRequirements {
	needs := v1.ResourceRequirements{}
	for range r.IntN(4) {
		name := one[v1.ResourceName](r, []v1.ResourceName{"cpu", "memory"}[r.IntN(2)], "ephemeral-storage", "gpu",
			"storage", "requests.cpu")
		amount := func() resource.Quantity {
			return resource.MustParse(one(r, "2", "4Mi", "3Mi", "100m", "0", "-1", "0.0001"))
		}
		if r.rarely(2) {
			set(&needs.Limits, name, amount())
		}
		if r.rarely(2) {
			set(&needs.Requests, name, amount())
		}
	}
	return needs
}

func set(list *v1.ResourceList, name v1.ResourceName, q resource.Quantity) {
	if *list == nil {
		*list = v1.ResourceList{}
	}
	(*list)[name] = q
}

func (r randomPods) resizePolicies() []v1.ContainerResizePolicy {
	var policies []v1.ContainerResizePolicy
	for _, name := range []v1.ResourceName{"cpu", "memory"} {
		if r.rarely(2) {
			policies = append(policies, v1.ContainerResizePolicy{
				ResourceName: one(r, name, "cpu", "gpu", ""),
				RestartPolicy: one[v1.ResourceResizeRestartPolicy](r, "NotRequired", "RestartContainer",
					"RestartContainer", "x", ""),
			})
		}
	}
	return policies
}

func (r randomPods) restartRule() v1.ContainerRestartRule {
	rule := v1.ContainerRestartRule{Action: one[v1.ContainerRestartRuleAction](r, "Restart", "RestartAllContainers", "",
		"x")}
	if !r.isWild() {
		rule.ExitCodes = &v1.ContainerRestartRuleOnExitCodes{
			Operator: one[v1.ContainerRestartRuleOnExitCodesOperator](r, "In", "NotIn", "", "x"),
			Values:   one(r, []int32{1}, nil, make([]int32, 256)),
		}
	}
	return rule
}

func (r randomPods) port() v1.ContainerPort {
	return v1.ContainerPort{
		Name:          one(r, "", "http", "UP", "a--b"),
		ContainerPort: one[int32](r, 80+r.Int32N(2), 0, 70000),
		Protocol:      one[v1.Protocol](r, "", "UDP", "tcp"),
	}
}

func (r randomPods) lifecycle() *v1.Lifecycle {
	l := &v1.Lifecycle{}
	if r.rarely(2) {
		l.PreStop = &v1.LifecycleHandler{Exec: one(r, &v1.ExecAction{Command: []string{"a"}}, &v1.ExecAction{}, nil)}
	}
	if r.rarely(2) {
		l.PostStart = &v1.LifecycleHandler{Sleep: one(r, &v1.SleepAction{Seconds: one[int64](r, 5, -1, 0, 60)}, nil)}
	}
	return l
}

func (r randomPods) probe() *v1.Probe {
	if r.rarely(2) {
		return nil
	}
	number := func() int32 { return one(r, r.Int32N(10), 0, 1, -1) }
	p := &v1.Probe{
		InitialDelaySeconds: number(), TimeoutSeconds: number(), PeriodSeconds: number(), FailureThreshold: number(),
		SuccessThreshold: one[int32](r, 0, 1, 2),
	}
	if r.rarely(8) {
		p.TerminationGracePeriodSeconds = new(one[int64](r, 30, 0, -1, 1))
	}
	r.setHandlers(&p.ProbeHandler)
	return p
}

// setHandlers sets one handler. If the draw is wild, it sets any number of handlers.
func (r randomPods) setHandlers(h *v1.ProbeHandler) {
	port := one(r, intstr.FromInt32(80), intstr.FromString("http"), intstr.FromInt32(0), intstr.FromInt32(70000),
		intstr.FromString("UP"), intstr.FromString("toolongportnamehere"))
	which := r.IntN(4)
	if which == 0 || r.isWild() && r.rarely(4) {
		h.Exec = &v1.ExecAction{Command: one(r, []string{"a", "b"}, nil)}
	}
	if which == 1 || r.isWild() && r.rarely(4) {
		h.HTTPGet = &v1.HTTPGetAction{Port: port, Path: one(r, "", "/x"),
			Scheme: one[v1.URIScheme](r, "", "HTTP", "HTTPS", "ftp"),
			Host:   one(r, "", "", "10.0.0.1", "a name", "::1"),
			HTTPHeaders: one(r, nil, nil, []v1.HTTPHeader{{Name: "X-A", Value: "\n"}},
				[]v1.HTTPHeader{{Name: "Host"}, {Name: "X:A"}, {Name: ""}})}
	}
	if which == 2 || r.isWild() && r.rarely(4) {
		h.TCPSocket = &v1.TCPSocketAction{Port: port, Host: one(r, "", "a name")}
	}
	if which == 3 && !(r.isWild() && r.rarely(2)) {
		h.GRPC = &v1.GRPCAction{Port: one[int32](r, 1, 0, 99999), Service: one(r, nil, new(""), new("live"))}
	}
}
