package plan

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/lists"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/router"
	"probesim.dev/node"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// Controlled is what a workload has that the Deployment controller creates pods for.
type Controlled struct {
	Deployment *appsv1.Deployment // as a client sends it, patched
	// ReplicaSets is the highest number of ReplicaSets that the steps can make.
	ReplicaSets int
	// Containers are the programs after a step that changes the template.
	Containers map[*format.Step]map[string]fakeruntime.ContainerConfig
}

// PlannedWorkload is a Deployment of a run with a control plane.
type PlannedWorkload struct {
	*Workload
	At virtual.Time // at which it is created
}

// Deployments returns the Deployments of a run with a control plane, in the order of the scenario.
func (p *Plan) Deployments() []PlannedWorkload {
	var list []PlannedWorkload
	for _, w := range p.Scenario.Workloads {
		if w.Controlled != nil {
			list = append(list, PlannedWorkload{w, virtual.At(p.Draw(w.Spec.At, "at "+w.path(), 0))})
		}
	}
	return list
}

// path identifies a workload in draws.
func (w *Workload) path() string {
	return w.Pod.Namespace + "/" + w.Manifest.Kind.Kind + "/" + w.Manifest.Name
}

// ObjectName is the name of the Deployment in records.
func (w *Workload) ObjectName() string {
	return "Deployment " + w.Pod.Namespace + "/" + w.Manifest.Name
}

// Program returns the program of a pod with the containers of a ReplicaSet.
func (w *Workload) Program(pod *v1.Pod, containers map[string]fakeruntime.ContainerConfig) fakeruntime.Pod {
	set, ordinal, _ := w.numbers(pod.Name)
	program := w.program(pod, ordinal)
	program.Workload = w.Manifest.Name + "-" + strconv.Itoa(set)
	program.Containers = maps.Clone(containers)
	for _, c := range w.Ephemeral {
		delete(program.Containers, c.Name)
	}
	return program
}

// ReplicaSet returns the number of the ReplicaSet of a Deployment that a record is about, or 0.
func (w *Workload) ReplicaSet(object string) int {
	number, ok := strings.CutPrefix(object, "ReplicaSet "+w.Pod.Namespace+"/"+w.Manifest.Name+"-")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return 0
	}
	return n
}

// numbers returns the numbers in the name of a pod of a Deployment, as in web-2-0, or of a
// ReplicaSet, as in web-2. A number that the name does not have is -1.
func (w *Workload) numbers(name string) (set, ordinal int, ok bool) {
	rest, ok := strings.CutPrefix(name, w.Manifest.Name+"-")
	if !ok {
		return 0, 0, false
	}
	first, second, both := strings.Cut(rest, "-")
	ordinal = -1
	set, err := strconv.Atoi(first)
	if err != nil || set < 1 || strconv.Itoa(set) != first {
		return 0, 0, false
	}
	if both {
		ordinal, err = strconv.Atoi(second)
		ok = err == nil && ordinal >= 0 && strconv.Itoa(ordinal) == second
	}
	return set, ordinal, ok
}

// owns reports whether a name matches a pod of a Deployment: the name of the Deployment, of a
// ReplicaSet, or of the pod.
func (w *Workload) owns(name, key string) bool {
	namespace, pod := format.SplitName(key)
	if namespace != w.Pod.Namespace {
		return false
	}
	set, ordinal, ok := w.numbers(pod)
	if !ok || ordinal < 0 {
		return false
	}
	namespace, name = format.SplitName(name)
	if namespace != "" && namespace != w.Pod.Namespace {
		return false
	}
	if name == "" || name == w.Manifest.Name {
		return true
	}
	ofSet, ofOrdinal, ok := w.numbers(name)
	return ok && ofSet == set && (ofOrdinal < 0 || ofOrdinal == ordinal)
}

// Owns reports whether a Deployment could create a pod of this name, as namespace/name, or a
// ReplicaSet.
func (w *Workload) Owns(key string) bool {
	namespace, name := format.SplitName(key)
	_, _, ok := w.numbers(name)
	return w.Controlled != nil && ok && namespace == w.Pod.Namespace
}

// owned returns those of some pods that a name matches.
func (w *Workload) owned(name string, seen []string) []string {
	return slices.DeleteFunc(slices.Clone(seen), func(key string) bool { return !w.owns(name, key) })
}

// named returns how many pods a name can match at most, at one time.
func (c *Controlled) named(w *Workload, name string) int {
	if name == "" || name == w.Manifest.Name {
		return w.Replicas
	}
	set, ordinal, ok := w.numbers(name)
	switch {
	case !ok || set > c.ReplicaSets:
		return 0
	case ordinal >= 0:
		return 1
	}
	return w.Replicas
}

// Seen returns the pods that were added in a run, in order.
func Seen(records []trace.Record) []string {
	var keys []string
	seen := map[string]bool{}
	for i := range records {
		if r := &records[i]; r.Kind == trace.PodAdded && !seen[r.Pod] {
			seen[r.Pod] = true
			keys = append(keys, r.Pod)
		}
	}
	return keys
}

// IsControlled reports whether a name matches a Deployment with a control plane, whose pods are not
// known before the run.
func (s *Scenario) IsControlled(name string) bool {
	return slices.ContainsFunc(s.Matching(name), func(w *Workload) bool { return w.Controlled != nil })
}

// Selects returns the function that reports whether a name matches a pod, given as namespace/name.
func (s *Scenario) Selects(name string) func(key string) bool {
	known := map[string]bool{}
	for _, key := range s.PodKeys(name, nil) {
		known[key] = true
	}
	return func(key string) bool { return known[key] || len(s.PodKeys(name, []string{key})) > len(known) }
}

// ruleOf is rule for a pod of a Deployment, or nil if a step changes the program of the container
// in later ReplicaSets.
func (w *Workload) ruleOf(pod, container string, number int) *format.Rule {
	_, name := format.SplitName(pod)
	if set, _, _ := w.numbers(name); set > 1 {
		for step := range w.Controlled.Containers {
			if slices.ContainsFunc(step.Rollout.Containers,
				func(c format.Container) bool { return c.Name == container }) {
				return nil
			}
		}
	}
	return w.rule(container, number)
}

// Service is an entry of spec.services with its object.
type Service struct {
	Spec   *format.Service
	Object *v1.Service
}

// Key returns the namespace/name of a Service.
func (s *Service) Key() string { return s.Object.Namespace + "/" + s.Object.Name }

// Service returns the Service of a name or namespace/name, or nil.
func (s *Scenario) Service(name string) *Service {
	namespace, name := format.SplitName(name)
	return lists.Find(s.Services, func(of *Service) bool {
		return of.Object.Name == name && (namespace == "" || namespace == of.Object.Namespace)
	})
}

// Deployment returns the Deployment of a name, or the only one if it is empty; nil if there is
// none.
func (s *Scenario) Deployment(name string) *Workload {
	namespace, name := format.SplitName(name)
	for _, w := range s.Workloads {
		if w.Controlled != nil && (name == "" || name == w.Manifest.Name) && (namespace == "" ||
			namespace == w.Pod.Namespace) {
			return w
		}
	}
	return nil
}

// SetOf returns the number of the ReplicaSet of a pod of a Deployment.
func (w *Workload) SetOf(pod string) int {
	set, _, _ := w.numbers(pod)
	return set
}

// firstLease is the number of the first lease among the moments that rules wait for.
const firstLease = 1 << 20

// Lease returns the number of a lease, which rules that wait for it have as their moment.
func (s *Scenario) Lease(name string) int {
	i := slices.Index(s.Leases, name)
	if i < 0 {
		i, s.Leases = len(s.Leases), append(s.Leases, name)
	}
	return firstLease + i
}

// LeaseOf returns the lease that a container of the workload wants, or nil.
func (w *Workload) LeaseOf(container string) *format.Lease {
	if c := w.Spec.Container(container); c != nil {
		return c.Lease
	}
	return nil
}

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
	control.Traffic = p.Streams()
	return control
}

// Streams returns the streams of requests of a run, as spec.traffic has them.
func (p *Plan) Streams() (list []traffic.Entry) {
	s := p.Scenario
	for _, t := range s.Spec.Traffic {
		service := s.Service(t.Service)
		entry := traffic.Entry{Service: service.Key(), Router: t.Router, Rate: float64(t.RPS), Container: t.Container}
		if t.Latency != nil {
			entry.Least, entry.Most = t.Latency.Min, t.Latency.Max
		}
		if t.Connections != nil {
			entry.Connections = *t.Connections
		}
		list = append(list, entry)
	}
	return list
}
