package scenarios

import (
	"net/http"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace/match"
)

// APIVersion is the apiVersion of Scenario and ScenarioList documents.
const APIVersion = "probesim.dev/v1alpha1"

// Scenario is a Scenario document that was loaded from a file and is valid.
type Scenario struct {
	Pos      `json:"-"`
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`

	// Command are the words after 'probesim run' that load the scenario. Nil: its Path.
	Command []string `json:"-"`

	workloads []*workload            // of Spec.Pods
	moments   []*match.Moment        // that rules wait for
	byName    map[string][]*workload // by the name of the workload, and by the stem of the names of its pods
}

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
	Seeds              *value.IntRange      `json:"seeds,omitempty"`              // one run for each seed; nil: a single run without a seed
	Kubelet            Kubelet              `json:"kubelet,omitempty"`
	Delays             *Delays              `json:"delays,omitempty"`
	Pods               []Pod                `json:"pods"`
	Steps              []*Step              `json:"steps,omitempty"`
	Expect             []*Expect            `json:"expect,omitempty"`

	// Variants is empty in a loaded scenario: each variant is a scenario of its own.
	Variants []Variant `json:"variants,omitempty"`
}

// Variant is an entry of spec.variants: a name, and the fields in which the variant differs from the scenario. docs/format.md
// describes how they combine.
type Variant struct {
	Pos                `json:"-"`
	Name               string               `json:"name"`
	Description        string               `json:"description,omitempty"`
	KubernetesVersions []value.VersionRange `json:"kubernetesVersions,omitempty"`
	Duration           value.Duration       `json:"duration,omitempty"`
	Seeds              *value.IntRange      `json:"seeds,omitempty"`
	Kubelet            Kubelet              `json:"kubelet,omitempty"`
	Delays             *Delays              `json:"delays,omitempty"`
	Pods               []Pod                `json:"pods,omitempty"`
	Steps              []*Step              `json:"steps,omitempty"`
	Expect             []*Expect            `json:"expect,omitempty"`
}

// Kubelet configures the kubelet.
type Kubelet struct {
	Uptime value.Draw     `json:"uptime,omitempty"` // age of the kubelet at t=0; 150.337s if not given
	Config *KubeletConfig `json:"config,omitempty"` // nil: the defaults
}

const (
	defaultDuration = 10 * time.Minute
	defaultUptime   = 150337 * time.Millisecond
	defaultStagger  = 100 * time.Millisecond
)

// Pod is an entry of spec.pods: a pod, or a workload with a pod template.
type Pod struct {
	Pos        `json:"-"`
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

// Container scripts the program in a container.
type Container struct {
	Pos      `json:"-"`
	Name     string   `json:"name"`
	Behavior []Rule   `json:"behavior,omitempty"`
	Answers  []Answer `json:"answers,omitempty"`
	Delays   *Delays  `json:"delays,omitempty"`
}

// Rule scripts what a program does and when. It compiles to a fakeruntime.Rule.
type Rule struct {
	Pos  `json:"-"`
	Text string `json:"-"` // source text on one line
	Flag string `json:"-"` // the words of the flag --app that the rule stands for; empty: the rule is from a file

	Replica  *value.IntRange `json:"replica,omitempty"`
	Instance *value.IntRange `json:"instance,omitempty"`

	After        *value.Draw    `json:"after,omitempty"`
	At           *value.Draw    `json:"at,omitempty"`
	Since        *match.Moment  `json:"since,omitempty"` // with After, or 0s, from its first match; its Pod may be empty: any
	AfterSigterm *value.Draw    `json:"afterSigterm,omitempty"`
	For          *value.Draw    `json:"for,omitempty"`
	Every        *value.Draw    `json:"every,omitempty"`
	Chance       *value.Percent `json:"chance,omitempty"`

	Liveness  *value.Series `json:"liveness,omitempty"`
	Readiness *value.Series `json:"readiness,omitempty"`
	Startup   *value.Series `json:"startup,omitempty"`
	Probes    *value.Series `json:"probes,omitempty"`
	PostStart *value.Answer `json:"postStart,omitempty"`
	PreStop   *value.Answer `json:"preStop,omitempty"`
	Exit      *value.Exit   `json:"exit,omitempty"`

	// Endpoints has the answers of all probes and hooks that ask at an endpoint, in the notation of Endpoint.Text.
	Endpoints map[string]*value.Series `json:"endpoints,omitempty"`

	// Handler responds to the httpGet probes and hooks instead of the fields above; see BehaviorRule. Files cannot
	// set it.
	Handler http.Handler `json:"-"`
}

// Answer is a named answer, which the rules of its container can use like a built-in word.
type Answer struct {
	Name           string             `json:"name"`
	Code           value.Code         `json:"code,omitempty"` // empty: success
	Body           string             `json:"body,omitempty"`
	IgnoreTimeout  bool               `json:"ignoreTimeout,omitempty"`
	Location       string             `json:"location,omitempty"`
	Then           *value.Answer      `json:"then,omitempty"`
	TransportError string             `json:"transportError,omitempty"`
	BodyEnd        *value.DrawOrNever `json:"bodyEnd,omitempty"`
}

// Delays are the latencies of runtime and API calls, and the usual response times of programs. A nil field takes
// the value of the set, then of the next wider scope (container, pod, scenario), and then the default.
type Delays struct {
	Set              string      `json:"set,omitempty"` // a name in fakeruntime.DelaySets
	RunPodSandbox    *value.Draw `json:"runPodSandbox,omitempty"`
	StopPodSandbox   *value.Draw `json:"stopPodSandbox,omitempty"`
	RemovePodSandbox *value.Draw `json:"removePodSandbox,omitempty"`
	CreateContainer  *value.Draw `json:"createContainer,omitempty"`
	StartContainer   *value.Draw `json:"startContainer,omitempty"`
	StopContainer    *value.Draw `json:"stopContainer,omitempty"`
	StopReturn       *value.Draw `json:"stopReturn,omitempty"`
	RemoveContainer  *value.Draw `json:"removeContainer,omitempty"`
	ListPodSandbox   *value.Draw `json:"listPodSandbox,omitempty"`
	ListContainers   *value.Draw `json:"listContainers,omitempty"`
	PodSandboxStatus *value.Draw `json:"podSandboxStatus,omitempty"`
	ContainerStatus  *value.Draw `json:"containerStatus,omitempty"`
	ImageStatus      *value.Draw `json:"imageStatus,omitempty"`
	ImagePull        *value.Draw `json:"imagePull,omitempty"`
	VolumeMount      *value.Draw `json:"volumeMount,omitempty"`
	APIGet           *value.Draw `json:"apiGet,omitempty"`
	APIPatch         *value.Draw `json:"apiPatch,omitempty"`
	APIDelete        *value.Draw `json:"apiDelete,omitempty"`
	Exec             *value.Draw `json:"exec,omitempty"`
	HTTPGet          *value.Draw `json:"httpGet,omitempty"`
	TCPSocket        *value.Draw `json:"tcpSocket,omitempty"`
	GRPC             *value.Draw `json:"grpc,omitempty"`
}

// UnmarshalNode points out the field set to authors who write a word.
func (d *Delays) UnmarshalNode(n *strict.Node) {
	if _, ok := fakeruntime.DelaySet(n.Value); ok && n.Kind == strict.Scalar {
		n.Errorf("must be a mapping: write {set: %s}", n.Value)
		return
	}
	type fields Delays
	strict.Decode(n, (*fields)(d))
}
