package scenarios

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
)

// Plan is one run of a scenario: one version of Kubernetes, and one seed or none.
type Plan struct {
	Scenario *Scenario
	Version  string // such as v1.37.0
	Seed     *int64 // nil: nothing is drawn
	Duration time.Duration
	Uptime   time.Duration        // age of the kubelet at t=0
	Delays   fakeruntime.Delays   // of the node; those of pods are in their programs
	Config   kubeletconfig.Config // of the kubelet
}

// PlannedPod is a pod of a run.
type PlannedPod struct {
	Workload string        // the name in spec.pods
	At       time.Duration // when the API server hands it to the kubelet
	Pod      *v1.Pod       // with defaults set, without what this version has not, and the caller's own
	Program  fakeruntime.Pod
}

// Plans returns all runs of a scenario: every version, oldest first, with every seed.
func (s *Scenario) Plans() []*Plan {
	var plans []*Plan
	for _, version := range selectVersions(s.Spec.KubernetesVersions) {
		if s.Spec.Seeds == nil {
			plans = append(plans, s.Plan(version.String(), nil))
			continue
		}
		for seed := s.Spec.Seeds.Min; seed <= s.Spec.Seeds.Max; seed++ {
			plans = append(plans, s.Plan(version.String(), new(int64(seed))))
		}
	}
	return plans
}

// Plan returns the run of a scenario with a version and a seed, whether or not it is one of Plans.
func (s *Scenario) Plan(version string, seed *int64) *Plan {
	return &Plan{
		Scenario: s,
		Version:  version,
		Seed:     seed,
		Duration: s.Spec.Duration.Time(),
		Uptime:   draw(s.Spec.Kubelet.Uptime, seed, "kubelet.uptime", 0),
		Delays:   s.Spec.Delays.compile(),
		Config:   s.Spec.Kubelet.Config.compile(),
	}
}

// Pods returns the pods of the run in the order of the scenario.
func (p *Plan) Pods() []PlannedPod {
	var pods []PlannedPod
	for _, w := range p.Scenario.workloads {
		name := w.pod.Namespace + "/" + w.manifest.kind.kind + "/" + w.manifest.name
		at := draw(w.spec.At, p.Seed, "at "+name, 0)
		for replica := range w.replicas {
			if replica > 0 {
				at += draw(w.stagger(), p.Seed, "stagger "+name, replica)
			}
			pods = append(pods, PlannedPod{Workload: w.manifest.name, At: at, Pod: w.newPod(replica), Program: w.program(replica)})
		}
	}
	return pods
}

func (w *workload) stagger() value.Draw {
	if w.spec.Stagger != nil {
		return *w.spec.Stagger
	}
	return value.Draw{Min: defaultStagger, Max: defaultStagger}
}

// program returns what the runtime must know of the pod of a replica. Replicas share what does not
// differ between them.
func (w *workload) program(replica int) fakeruntime.Pod {
	pod := w.newPod(replica)
	return fakeruntime.Pod{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name,
		Workload: w.manifest.name, Replica: replica, HostNetwork: pod.Spec.HostNetwork,
		Delays: w.delays, Containers: w.containers,
	}
}

func draw(d value.Draw, seed *int64, name string, ordinal int) time.Duration {
	return fakeruntime.Draw(d).Drawn(seed, name, int64(ordinal))
}
