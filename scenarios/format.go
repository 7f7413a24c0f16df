package scenarios

import (
	"net/http"
	"time"

	"probesim.dev/internal/value"
)

// APIVersion is the apiVersion of Scenario and ScenarioList documents.
const APIVersion = "probesim.dev/v1alpha1"

// Scenario is a document that was read from a file and found right.
type Scenario struct {
	Pos      `json:"-"`
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`

	workloads []*workload // of Spec.Pods
}

// Metadata is who a scenario is.
type Metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec is what a scenario says.
type Spec struct {
	Description        string               `json:"description,omitempty"`
	KubernetesVersions []value.VersionRange `json:"kubernetesVersions,omitempty"` // none: the newest
	Duration           value.Duration       `json:"duration,omitempty"`           // 10m if not given
	Seeds              *value.IntRange      `json:"seeds,omitempty"`              // nil: one run in which nothing is drawn
	Kubelet            Kubelet              `json:"kubelet,omitempty"`
	Delays             *Delays              `json:"delays,omitempty"`
	Pods               []Pod                `json:"pods"`
	Steps              []*Step              `json:"steps,omitempty"`
	Expect             []*Expect            `json:"expect,omitempty"`
}

// Kubelet is what is special about the kubelet.
type Kubelet struct {
	Uptime value.Draw     `json:"uptime,omitempty"` // its age at t=0; 150.337s if not given
	Config *KubeletConfig `json:"config,omitempty"` // nil: the defaults
}

const (
	defaultDuration = 10 * time.Minute
	defaultUptime   = 150337 * time.Millisecond
	defaultStagger  = 100 * time.Millisecond
)

// Pod is one workload of a scenario: a pod, or the pods of a template.
type Pod struct {
	Pos        `json:"-"`
	Name       string      `json:"name"`
	Kind       string      `json:"kind,omitempty"`
	File       string      `json:"file,omitempty"` // relative to the scenario's
	Patch      *patch      `json:"patch,omitempty"`
	At         value.Draw  `json:"at,omitempty"`
	Replicas   *int        `json:"replicas,omitempty"` // nil: as in the manifest
	Stagger    *value.Draw `json:"stagger,omitempty"`  // nil: 100ms
	Delays     *Delays     `json:"delays,omitempty"`
	Containers []Container `json:"containers,omitempty"`
}

// Container is what the program in a container does.
type Container struct {
	Pos      `json:"-"`
	Name     string   `json:"name"`
	Behavior []Rule   `json:"behavior,omitempty"`
	Answers  []Answer `json:"answers,omitempty"`
	Delays   *Delays  `json:"delays,omitempty"`
}

// Rule says who does what when; see fakeruntime.Rule, which it becomes.
type Rule struct {
	Replica  *value.IntRange `json:"replica,omitempty"`
	Instance *value.IntRange `json:"instance,omitempty"`

	After        *value.Draw    `json:"after,omitempty"`
	At           *value.Draw    `json:"at,omitempty"`
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

	// Handler answers the httpGet probes and hooks in place of the fields above; see BehaviorRule. A file has none.
	Handler http.Handler `json:"-"`
}

// Answer is a named answer: one more word for the rules of its container.
type Answer struct {
	Name           string        `json:"name"`
	Code           value.Code    `json:"code,omitempty"` // empty: success
	Body           string        `json:"body,omitempty"`
	IgnoreTimeout  bool          `json:"ignoreTimeout,omitempty"`
	Location       string        `json:"location,omitempty"`
	Then           *value.Answer `json:"then,omitempty"`
	TransportError string        `json:"transportError,omitempty"`
}

// Delays are the latencies of runtime and API calls, and the usual times to answer; nil for the default
// or that of the next wider scope.
type Delays struct {
	RunPodSandbox    *value.Draw `json:"runPodSandbox,omitempty"`
	StopPodSandbox   *value.Draw `json:"stopPodSandbox,omitempty"`
	RemovePodSandbox *value.Draw `json:"removePodSandbox,omitempty"`
	CreateContainer  *value.Draw `json:"createContainer,omitempty"`
	StartContainer   *value.Draw `json:"startContainer,omitempty"`
	StopContainer    *value.Draw `json:"stopContainer,omitempty"`
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
