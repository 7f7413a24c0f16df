package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
)

// Scenario is a Scenario document that was loaded from a file and is valid.
type Scenario struct {
	strict.Pos `json:"-"`
	Metadata   format.Metadata `json:"metadata"`
	Spec       format.Spec     `json:"spec"`

	// Command are the words after 'probesim run' that load the scenario. Nil: its Path.
	Command []string `json:"-"`

	Workloads []*Workload            `json:"-"` // of Spec.Pods
	Services  []Service              `json:"-"` // of Spec.Services
	Leases    []string               `json:"-"` // by number
	Moments   []program.Moment       `json:"-"` // that rules wait for
	byName    map[string][]*Workload // by the name of the workload, and by the stem of the names of its pods
}

// Stdin is the name of standard input as a file: the File of its scenarios and of its errors.
const Stdin = "stdin"

// Path returns the path for the command line from which a scenario was loaded: its File, or - for
// standard input.
func (s *Scenario) Path() string { return PathOf(s.File) }

// PathOf returns the path for the command line of a file.
func PathOf(file string) string {
	if file == Stdin {
		return "-"
	}
	return file
}

// Plan is one run of a scenario, with one version of Kubernetes and at most one seed.
type Plan struct {
	Scenario *Scenario
	Version  string             // such as v1.37
	Seed     *int64             // nil: a run without a seed, which takes the middle of each range
	Duration time.Duration      // length of the run
	Uptime   time.Duration      // age of the kubelet at t=0
	Delays   fakeruntime.Delays // of the node; the programs of pods contain the delays of pods
	// the kind of node that a command asks for, where the scenario has no set of the control plane
	Set    string
	Config kubeletconfig.Config // configuration of the kubelet
}

// PlannedPod is a pod of a run.
type PlannedPod struct {
	Workload string // the name in spec.pods
	// virtual time at which the API server passes the pod to the kubelet, or its manifest is
	// written
	At       virtual.Time
	Pod      *v1.Pod // with defaults set; a copy that the caller owns
	Program  fakeruntime.Pod
	Manifest *v1.Pod // the manifest of a static pod; nil for other pods
	// Ephemeral has the programs of the ephemeral containers that steps add, among others, by name.
	Ephemeral map[string]fakeruntime.ContainerConfig
}

// Plans returns all runs of a scenario: each version, oldest first, with each seed.
func (s *Scenario) Plans() []*Plan {
	var plans []*Plan
	for _, version := range SelectVersions(s.Spec.KubernetesVersions) {
		plans = append(plans, s.bySeed(version.String())...)
	}
	return plans
}

// PlansWith returns the runs of a scenario with a version, which need not be out: none if its
// kubernetesVersions exclude the version. Without them, it has runs with the newest release and
// with later versions.
func (s *Scenario) PlansWith(version string) []*Plan {
	v, ranges := versionOf(version), s.Spec.KubernetesVersions
	if len(ranges) == 0 && v.Compare(versionOf(profile.Newest().Version)) < 0 || len(ranges) > 0 &&
		!slices.ContainsFunc(ranges, func(r value.VersionRange) bool { return r.Contains(v) }) {
		return nil
	}
	return s.bySeed(version)
}

// bySeed returns the runs of a scenario with a version, one for each seed.
func (s *Scenario) bySeed(version string) []*Plan {
	if s.Spec.Seeds == nil {
		return []*Plan{s.Plan(version, nil)}
	}
	var plans []*Plan
	for seed := s.Spec.Seeds.Min; seed <= s.Spec.Seeds.Max; seed++ {
		plans = append(plans, s.Plan(version, new(int64(seed))))
	}
	return plans
}

// Plan returns the run of a scenario with a version, such as v1.37, and a seed. Plans need not
// contain this run. A nil seed means a run without a seed.
func (s *Scenario) Plan(version string, seed *int64) *Plan {
	p := &Plan{Scenario: s, Version: version, Seed: seed, Duration: s.Spec.Duration.Time(),
		Delays: s.Spec.Delays.Compile(), Config: s.config()}
	p.Uptime = p.Draw(s.Spec.Kubelet.Uptime, "kubelet.uptime", 0)
	return p
}

// staticPodPath is the directory of manifests if the scenario does not name one.
const staticPodPath = "/etc/kubernetes/manifests"

// config returns the configuration of the kubelet, which has a directory of manifests if there are
// static pods.
func (s *Scenario) config() kubeletconfig.Config {
	c := s.Spec.Kubelet.Config.Compile()
	c.Allocatable = s.Spec.Kubelet.Allocatable.Compile()
	if slices.ContainsFunc(s.Workloads, func(w *Workload) bool { return w.Spec.Static }) {
		c.StaticPodPath = staticPodPath
	}
	return c
}

// Pods returns the pods of the run in the order of the scenario, without those of Deployments with
// a control plane.
func (p *Plan) Pods() []PlannedPod {
	return p.podsBy((*Workload).NewPod)
}

// Specs returns the pods of the run without their programs.
func (p *Plan) Specs() []*v1.Pod {
	var list []*v1.Pod
	for _, planned := range p.Pods() {
		list = append(list, planned.Pod)
	}
	return list
}

// AdmittedPods is Pods for pods that the API server has admitted, or the first error of the server.
// Runs share the pods: do not modify them.
func (p *Plan) AdmittedPods() ([]PlannedPod, error) {
	known, _ := p.Profile()
	var first error
	pods := p.podsBy(func(w *Workload, replica int) *v1.Pod {
		pod, err := w.admitted.pod(w, known, replica)
		first = cmp.Or(first, err)
		return pod
	})
	return pods, first
}

func (p *Plan) podsBy(newPod func(w *Workload, replica int) *v1.Pod) []PlannedPod {
	var pods []PlannedPod
	for _, w := range p.Scenario.Workloads {
		if w.Controlled != nil {
			continue // its pods are not known before the run
		}
		name := w.path()
		at := p.Draw(w.Spec.At, "at "+name, 0)
		for replica := range w.Replicas {
			if replica > 0 {
				at += p.Draw(w.stagger(), "stagger "+name, replica)
			}
			pod := PlannedPod{Workload: w.Manifest.Name, At: virtual.At(at), Pod: newPod(w, replica),
				Ephemeral: w.Containers}
			pod.Program = w.program(pod.Pod, replica)
			if w.Spec.Static {
				pod.Manifest = w.Pod.DeepCopy()
			}
			pods = append(pods, pod)
		}
	}
	return pods
}

// Parts returns the number of pods, containers and probes in a run of the scenario, in total.
func (s *Scenario) Parts() int {
	n := 0
	for _, w := range s.Workloads {
		n += w.Replicas * w.Parts()
	}
	return n
}

// Draw returns a duration of the run. Draws of one name and different ordinals are independent.
func (p *Plan) Draw(d value.Draw, name string, ordinal int) time.Duration {
	return fakeruntime.Draw(d).Drawn(p.Seed, name, int64(ordinal))
}

// Profile returns the profile of the version of the run, with the feature gates of the scenario. It
// returns false if the version has no profile.
func (p *Plan) Profile() (profile.Profile, bool) {
	known, ok := profile.Named(p.Version)
	return WithGates(known, p.Config), ok
}

// Admitted reports whether the API server of the plan's release, with its feature gates, accepts
// all pods of the scenario.
func (p *Plan) Admitted() bool {
	known, ok := p.Profile()
	for _, w := range p.Scenario.Workloads {
		ok = ok && len(admission.ValidateGated(known, w.Pod)) == 0
	}
	return ok
}

// WithGates sets the feature gates that the version accepts, and skips the others.
func WithGates(p profile.Profile, config kubeletconfig.Config) profile.Profile {
	for _, name := range slices.Sorted(maps.Keys(config.FeatureGates)) {
		p, _ = p.SetGate(name, config.FeatureGates[name])
	}
	return p
}

// StepsClock reports whether the scenario makes the wall clock of the node jump.
func (s *Scenario) StepsClock() bool {
	return slices.ContainsFunc(s.Spec.Steps, func(s *format.Step) bool { return s.StepClock != nil })
}

// Notes returns what a user of the run has to know besides its trace: the fields of the manifests
// that the API server drops without an error, because their feature gates are off in the version of
// the run, rules that hardly any program follows, ports that no request can reach, and hooks that
// take an unknown time.
func (p *Plan) Notes() []string {
	known, ok := p.Profile()
	if !ok {
		return nil
	}
	var notes []string
	for _, w := range p.Scenario.Workloads {
		m, dropped := w.Manifest, admission.DropDisabled(known, w.Pod.Spec.DeepCopy())
		notes = append(notes, admission.Notes(known, m.Kind.Kind+" "+m.Name, m.Kind.Template, dropped)...)
		notes = append(notes, w.Notes...)
	}
	return notes
}

// NeedsDetails reports whether the scenario asks for fields of a status that a trace has only with
// details (trace.Recorder).
func (s *Scenario) NeedsDetails() bool {
	ofStep := func(step *format.Step) bool { return format.MomentInDetail(step.Since) }
	return slices.ContainsFunc(s.Spec.Expect, (*format.Expect).NeedsDetails) ||
		slices.ContainsFunc(s.Spec.Steps, ofStep) ||
		slices.ContainsFunc(s.Moments, func(m program.Moment) bool { return format.MomentInDetail(m.Moment) })
}

// KnownVersions returns the versions with a profile, oldest first.
func KnownVersions() []value.Version {
	var versions []value.Version
	for _, name := range profile.NamesWithPreviews() {
		versions = append(versions, versionOf(name))
	}
	return versions
}

// versionOf returns the version of a profile.
func versionOf(name string) value.Version {
	v, err := value.ParseVersion(name)
	if err != nil {
		panic(err) // the profiles are part of this module
	}
	return v
}

// SelectVersions returns the known versions that any of the ranges selects, oldest first. Without
// ranges it returns the newest known release.
func SelectVersions(ranges []value.VersionRange) []value.Version {
	if len(ranges) == 0 {
		return []value.Version{versionOf(profile.Newest().Version)}
	}
	return slices.DeleteFunc(KnownVersions(), func(v value.Version) bool {
		return !slices.ContainsFunc(ranges, func(r value.VersionRange) bool { return Selects(r, v) })
	})
}

// Selects reports whether a range selects a known version.
func Selects(r value.VersionRange, v value.Version) bool {
	p, _ := profile.Named(v.String())
	return r.Selects(v, !p.Preview())
}
