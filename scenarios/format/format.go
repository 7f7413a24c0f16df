package format

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"probesim.dev/internal/lists"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
)

// APIVersion is the apiVersion of Scenario and ScenarioList documents.
const APIVersion = "probesim.dev/v1alpha1"

// Metadata identifies a scenario.
type Metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec is the specification of a scenario. docs/format.md describes every field.
type Spec struct {
	Description        string               `json:"description,omitempty"`
	KubernetesVersions []value.VersionRange `json:"kubernetesVersions,omitempty"` // empty: the newest version
	Duration           value.Duration       `json:"duration,omitempty"`           // length of the run; 10m if not given
	// one run for each seed; nil: a single run without a seed
	Seeds        *value.IntRange `json:"seeds,omitempty"`
	Kubelet      Kubelet         `json:"kubelet,omitempty"`
	Delays       *Delays         `json:"delays,omitempty"`
	ControlPlane *ControlPlane   `json:"controlPlane,omitempty"` // nil: no controllers
	Pods         []Pod           `json:"pods"`
	Services     []Service       `json:"services,omitempty"` // only with ControlPlane
	Traffic      []Traffic       `json:"traffic,omitempty"`
	Steps        []*Step         `json:"steps,omitempty"`
	Expect       []*Expect       `json:"expect,omitempty"`

	// Variants is empty in a loaded scenario: each variant is a scenario of its own.
	Variants []Variant `json:"variants,omitempty"`
}

// Variant is an entry of spec.variants: a name, and the fields in which the variant differs from
// the scenario. docs/format.md describes how they combine.
type Variant struct {
	strict.Pos         `json:"-"`
	Name               string               `json:"name"`
	Description        string               `json:"description,omitempty"`
	KubernetesVersions []value.VersionRange `json:"kubernetesVersions,omitempty"`
	Duration           value.Duration       `json:"duration,omitempty"`
	Seeds              *value.IntRange      `json:"seeds,omitempty"`
	Kubelet            Kubelet              `json:"kubelet,omitempty"`
	Delays             *Delays              `json:"delays,omitempty"`
	ControlPlane       *ControlPlane        `json:"controlPlane,omitempty"`
	Pods               []Pod                `json:"pods,omitempty"`
	Services           []Service            `json:"services,omitempty"`
	Traffic            []Traffic            `json:"traffic,omitempty"`
	Steps              []*Step              `json:"steps,omitempty"`
	Expect             []*Expect            `json:"expect,omitempty"`
}

// Kubelet configures the kubelet.
type Kubelet struct {
	Uptime      value.Draw     `json:"uptime,omitempty"`      // age of the kubelet at t=0; 150.337s if not given
	Allocatable *Allocatable   `json:"allocatable,omitempty"` // nil: enough for every pod
	Config      *KubeletConfig `json:"config,omitempty"`      // nil: the defaults
}

// Allocatable is the size of the node, as status.allocatable of a Node.
type Allocatable struct {
	CPU    *resource.Quantity `json:"cpu,omitempty"`    // nil: enough for every pod
	Memory *resource.Quantity `json:"memory,omitempty"` // nil: enough for every pod
}

// Compile returns the size for a run.
func (a *Allocatable) Compile() kubeletconfig.Allocatable {
	var size kubeletconfig.Allocatable
	if a == nil {
		return size
	}
	if a.CPU != nil {
		size.MilliCPU = a.CPU.MilliValue()
	}
	if a.Memory != nil {
		size.Memory = a.Memory.Value()
	}
	return size
}

const (
	DefaultDuration = 10 * time.Minute
	DefaultUptime   = 150337 * time.Millisecond
	DefaultStagger  = 100 * time.Millisecond
)

// Pod is an entry of spec.pods: a pod, or a workload with a pod template.
type Pod struct {
	strict.Pos `json:"-"`
	Name       string      `json:"name"`
	Kind       string      `json:"kind,omitempty"`
	File       string      `json:"file,omitempty"` // path relative to the directory of the scenario file
	Patch      *patch      `json:"patch,omitempty"`
	Static     bool        `json:"static,omitempty"`
	At         value.Draw  `json:"at,omitempty"`
	Replicas   *int        `json:"replicas,omitempty"` // nil: as many as the manifest says
	Stagger    *value.Draw `json:"stagger,omitempty"`  // nil: 100ms
	Delays     *Delays     `json:"delays,omitempty"`
	Containers []Container `json:"containers,omitempty"`
}

// Container returns the entry of a container, or nil.
func (p *Pod) Container(name string) *Container {
	return lists.Find(p.Containers, func(x *Container) bool { return x.Name == name })
}

// Container scripts the program in a container.
type Container struct {
	strict.Pos `json:"-"`
	Name       string   `json:"name"`
	Lease      *Lease   `json:"lease,omitempty"`
	Behavior   []Rule   `json:"behavior,omitempty"`
	Answers    []Answer `json:"answers,omitempty"`
	Delays     *Delays  `json:"delays,omitempty"`
}

// Limits of a scenario. Durations are limited by value.MaxDuration, delays by an hour.
const (
	MaxPods  = 10_000  // per scenario
	MaxSeeds = 100_000 // per scenario

	MaxEntries = 1000 // in spec.pods, steps and expect, and in behavior and answers of a container
)

// Fits reports whether a list is within the limit of entries.
func Fits(n *strict.Node) bool {
	if len(n.Items) <= MaxEntries {
		return true
	}
	n.Errorf("has more than %d entries", MaxEntries)
	return false
}
