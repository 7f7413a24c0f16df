package plan

import (
	"maps"
	"strconv"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
)

// Workload is an entry of spec.pods with its manifest and compiled programs.
type Workload struct {
	Spec       *format.Pod
	Manifest   *manifests.Object
	Pod        *v1.Pod // replica 0, patched, with defaults
	Replicas   int
	Containers map[string]fakeruntime.ContainerConfig
	Ephemeral  []*v1.Container // ephemeral containers that steps add
	Delays     fakeruntime.Delays
	Notes      []string    // what a reader of the runs has to know about the programs
	Index      int         // in the workloads of the scenario
	Controlled *Controlled // nil: no controller is simulated
	admitted   *admitted
}

// admitted are the pods of a workload that API servers have admitted, or why not. Runs at the same
// time share them.
type admitted struct {
	mu   sync.Mutex
	pods map[admittedBy]func() (*v1.Pod, error)
}

type admittedBy struct {
	release profile.Profile
	replica int
}

// pod returns the pod of a replica as the API server of a release stores it, or the error of the
// server.
func (a *admitted) pod(w *Workload, release profile.Profile, replica int) (*v1.Pod, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := admittedBy{release, replica}
	if a.pods[key] == nil {
		a.pods[key] = sync.OnceValues(func() (*v1.Pod, error) { return admission.Admit(release, w.NewPod(replica)) })
	}
	return a.pods[key]()
}

// Key returns the namespace/name of a replica.
func (w *Workload) Key(replica int) string {
	return w.Pod.Namespace + "/" + w.podName(replica)
}

// podName returns the name of the pod of a replica.
func (w *Workload) podName(replica int) string {
	if w.Spec.Static {
		return admission.StaticName(w.Manifest.PodName(0))
	}
	return w.Manifest.PodName(replica)
}

// NewPod returns the pod of a replica.
func (w *Workload) NewPod(replica int) *v1.Pod {
	if w.Spec.Static {
		return admission.Static(w.Pod)
	}
	pod := w.Pod.DeepCopy()
	pod.Name = w.podName(replica)
	if w.Manifest.Kind.Template != "" {
		pod.UID = admission.UID(pod.Namespace, pod.Name)
	}
	return pod
}

// Parts returns the number of pods, containers and probes of one replica.
func (w *Workload) Parts() int {
	parts := 1 + len(w.Pod.Spec.InitContainers)
	for i := range w.Pod.Spec.Containers {
		parts += 1 + len(podutil.Probes(&w.Pod.Spec.Containers[i]))
	}
	return parts
}

func (w *Workload) stagger() value.Draw {
	if w.Spec.Stagger != nil {
		return *w.Spec.Stagger
	}
	return value.Draw{Min: format.DefaultStagger, Max: format.DefaultStagger}
}

// program returns the program of the pod of a replica. Replicas share the parts that are equal.
func (w *Workload) program(pod *v1.Pod, replica int) fakeruntime.Pod {
	containers := w.Containers
	if len(w.Ephemeral) > 0 {
		containers = maps.Clone(containers)
		for _, c := range w.Ephemeral {
			delete(containers, c.Name)
		}
	}
	return fakeruntime.Pod{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name,
		Workload: w.Manifest.Name, Replica: replica, HostNetwork: pod.Spec.HostNetwork,
		Delays: w.Delays, Containers: containers,
	}
}

// Rule returns the rule with a number, from 1, in the behavior of a container of a pod, or nil. The
// pod is named namespace/name.
func (p *Plan) Rule(pod, container string, number int) *format.Rule {
	switch w := p.workloadOf(pod); {
	case w == nil:
		return nil
	case w.Owns(pod):
		return w.ruleOf(pod, container, number)
	default:
		return w.rule(container, number)
	}
}

// workloadOf returns the workload of a pod, named namespace/name, or nil.
func (p *Plan) workloadOf(pod string) *Workload {
	for _, w := range p.Scenario.Workloads {
		if w.Owns(pod) {
			return w
		}
		for replica := range w.Replicas {
			if w.Key(replica) == pod {
				return w
			}
		}
	}
	return nil
}

// LeaseOf returns the lease that a container of a pod wants, or nil.
func (p *Plan) LeaseOf(pod, container string) *format.Lease {
	if len(p.Scenario.Leases) == 0 {
		return nil
	}
	if w := p.workloadOf(pod); w != nil {
		return w.LeaseOf(container)
	}
	return nil
}

func (w *Workload) rule(container string, number int) *format.Rule {
	if c := w.Spec.Container(container); c != nil && number > 0 && number <= len(c.Behavior) {
		return &c.Behavior[number-1]
	}
	return nil
}

// podStem returns the part that the names of the pods have in common.
func (w *Workload) podStem() string { return strings.TrimSuffix(w.podName(0), "0") }

// Named returns the replicas of the workload that a name matches: the first, and their number.
func (w *Workload) Named(name string) (first, count int) {
	_, name = format.SplitName(name)
	own := w.Manifest.Name
	if w.Controlled != nil {
		return 0, w.Controlled.named(w, name)
	}
	if name == "" || name == own || w.Spec.Static && name == w.podName(0) {
		return 0, w.Replicas
	}
	number, ok := strings.CutPrefix(name, w.podStem())
	replica, err := strconv.Atoi(number)
	if !ok || err != nil || replica < 0 || replica >= w.Replicas || name != w.podName(replica) {
		return 0, 0
	}
	return replica, 1
}
