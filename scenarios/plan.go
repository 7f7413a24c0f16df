package scenarios

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
)

// Plan is one run of a scenario, with one version of Kubernetes and at most one seed.
type Plan struct {
	Scenario *Scenario
	Version  string               // such as v1.37.0
	Seed     *int64               // nil: a run without a seed, which takes the middle of each range
	Duration time.Duration        // length of the run
	Uptime   time.Duration        // age of the kubelet at t=0
	Delays   fakeruntime.Delays   // of the node; the programs of pods contain the delays of pods
	Config   kubeletconfig.Config // configuration of the kubelet
}

// PlannedPod is a pod of a run.
type PlannedPod struct {
	Workload string       // the name in spec.pods
	At       virtual.Time // virtual time at which the API server passes the pod to the kubelet, or its manifest is written
	Pod      *v1.Pod      // with defaults set; a copy that the caller owns
	Program  fakeruntime.Pod
	Manifest *v1.Pod // the manifest of a static pod; nil for other pods
	// Ephemeral has the programs of the ephemeral containers that steps add, among others, by name.
	Ephemeral map[string]fakeruntime.ContainerConfig
}

// Plans returns all runs of a scenario: each version, oldest first, with each seed.
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

// Plan returns the run of a scenario with a version, such as v1.37.0, and a seed. Plans need not contain this run.
// A nil seed means a run without a seed.
func (s *Scenario) Plan(version string, seed *int64) *Plan {
	return &Plan{
		Scenario: s,
		Version:  version,
		Seed:     seed,
		Duration: s.Spec.Duration.Time(),
		Uptime:   draw(s.Spec.Kubelet.Uptime, seed, "kubelet.uptime", 0),
		Delays:   s.Spec.Delays.compile(),
		Config:   s.config(),
	}
}

// staticPodPath is the directory of manifests if the scenario does not name one.
const staticPodPath = "/etc/kubernetes/manifests"

// config returns the configuration of the kubelet, which has a directory of manifests if there are static pods.
func (s *Scenario) config() kubeletconfig.Config {
	c := s.Spec.Kubelet.Config.compile()
	if slices.ContainsFunc(s.workloads, func(w *workload) bool { return w.spec.Static }) {
		c.StaticPodPath = staticPodPath
	}
	return c
}

// Pods returns the pods of the run in the order of the scenario.
func (p *Plan) Pods() []PlannedPod {
	return p.podsBy((*workload).newPod)
}

// admitted is Pods for pods that the API server has admitted, or the first error of the server. Runs share the pods: do not modify
// them.
func (p *Plan) admitted() ([]PlannedPod, error) {
	known, _ := p.Profile()
	var first error
	pods := p.podsBy(func(w *workload, replica int) *v1.Pod {
		pod, err := w.admitted.pod(w, known, replica)
		first = cmp.Or(first, err)
		return pod
	})
	return pods, first
}

func (p *Plan) podsBy(newPod func(w *workload, replica int) *v1.Pod) []PlannedPod {
	var pods []PlannedPod
	for _, w := range p.Scenario.workloads {
		name := w.pod.Namespace + "/" + w.manifest.kind.kind + "/" + w.manifest.name
		at := draw(w.spec.At, p.Seed, "at "+name, 0)
		for replica := range w.replicas {
			if replica > 0 {
				at += draw(w.stagger(), p.Seed, "stagger "+name, replica)
			}
			pod := PlannedPod{Workload: w.manifest.name, At: virtual.At(at), Pod: newPod(w, replica), Ephemeral: w.containers}
			pod.Program = w.program(pod.Pod, replica)
			if w.spec.Static {
				pod.Manifest = w.pod.DeepCopy()
			}
			pods = append(pods, pod)
		}
	}
	return pods
}

// Parts returns the number of pods, containers and probes in a run of the scenario, in total.
func (s *Scenario) Parts() int {
	n := 0
	for _, w := range s.workloads {
		n += w.replicas * w.parts()
	}
	return n
}

func draw(d value.Draw, seed *int64, name string, ordinal int) time.Duration {
	return fakeruntime.Draw(d).Drawn(seed, name, int64(ordinal))
}

// Profile returns the profile of the version of the run, with the feature gates of the scenario. It returns false
// if the version has no profile.
func (p *Plan) Profile() (profile.Profile, bool) {
	known, ok := profile.Named(p.Version)
	return withGates(known, p.Config), ok
}

// Admitted reports whether the API server of the plan's release, with its feature gates, accepts all pods of the scenario.
func (p *Plan) Admitted() bool {
	known, ok := p.Profile()
	for _, w := range p.Scenario.workloads {
		ok = ok && len(admission.ValidateGated(known, w.pod)) == 0
	}
	return ok
}

// compile returns the delays for the runtime; none if d is nil.
func (d *Delays) compile() fakeruntime.Delays {
	if d == nil {
		return fakeruntime.Delays{}
	}
	draw := func(v *value.Draw) *fakeruntime.Draw { return (*fakeruntime.Draw)(v) }
	set, _ := fakeruntime.DelaySet(d.Set)
	return fakeruntime.Delays{
		RunPodSandbox: draw(d.RunPodSandbox), StopPodSandbox: draw(d.StopPodSandbox),
		RemovePodSandbox: draw(d.RemovePodSandbox), PodSandboxStatus: draw(d.PodSandboxStatus),
		ListPodSandbox: draw(d.ListPodSandbox), CreateContainer: draw(d.CreateContainer),
		StartContainer: draw(d.StartContainer), StopContainer: draw(d.StopContainer),
		StopReturn: draw(d.StopReturn), RemoveContainer: draw(d.RemoveContainer), ListContainers: draw(d.ListContainers),
		ContainerStatus: draw(d.ContainerStatus), ImageStatus: draw(d.ImageStatus),
		ImagePull: draw(d.ImagePull), VolumeMount: draw(d.VolumeMount),
		APIGet: draw(d.APIGet), APIPatch: draw(d.APIPatch), APIDelete: draw(d.APIDelete),
		Exec: draw(d.Exec), HTTPGet: draw(d.HTTPGet), TCPSocket: draw(d.TCPSocket), GRPC: draw(d.GRPC),
	}.Over(set)
}

// withGates sets the feature gates that the version accepts, and skips the others.
func withGates(p profile.Profile, config kubeletconfig.Config) profile.Profile {
	for _, name := range slices.Sorted(maps.Keys(config.FeatureGates)) {
		p, _ = p.SetGate(name, config.FeatureGates[name])
	}
	return p
}

// compile returns the configuration for a run.
func (k *KubeletConfig) compile() kubeletconfig.Config {
	var c kubeletconfig.Config
	if k == nil {
		return c
	}
	if k.SyncFrequency != nil {
		c.SyncFrequency = k.SyncFrequency.Time()
	}
	if m := k.CrashLoopBackOff.MaxContainerRestartPeriod; m != nil {
		c.MaxContainerRestartPeriod = m.Time()
	}
	if most := k.MaxParallelImagePulls; most != nil {
		c.MaxParallelImagePulls = *most
	}
	c.ParallelImagePulls = c.MaxParallelImagePulls > 1
	if k.SerializeImagePulls != nil {
		c.ParallelImagePulls = !*k.SerializeImagePulls
	}
	c.ShutdownGracePeriod, c.ShutdownGracePeriodCriticalPods = k.ShutdownGracePeriod.Time(), k.ShutdownGracePeriodCriticalPods.Time()
	for _, p := range k.ShutdownGracePeriodByPodPriority {
		c.ShutdownByPriority = append(c.ShutdownByPriority, kubeletconfig.ShutdownPeriod{Priority: p.Priority, Seconds: p.ShutdownGracePeriodSeconds})
	}
	c.FeatureGates = k.FeatureGates
	return c
}

// StepsClock reports whether the scenario makes the wall clock of the node jump.
func (s *Scenario) StepsClock() bool {
	return slices.ContainsFunc(s.Spec.Steps, func(s *Step) bool { return s.StepClock != nil })
}
