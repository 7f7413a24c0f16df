// Package scenarios reads scenario files: ordinary Kubernetes manifests and Scenario documents that say
// what the programs in their containers do, what people do to them and what must hold. It refuses what
// it does not know, all at once and with positions, and compiles the rest to plans: one run each.
package scenarios

import (
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/trace/match"
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

// Step is one action and its time: At, or so long After the first moment that Since names. Exactly one
// action is set.
type Step struct {
	Pos   `json:"-"`
	Path  string        `json:"-"` // of the field, as in spec.steps[0]
	Text  string        `json:"-"` // as written
	At    *value.Draw   `json:"at,omitempty"`
	Since *match.Moment `json:"since,omitempty"`
	After *value.Draw   `json:"after,omitempty"` // nil: 0s

	Delete    *Delete    `json:"delete,omitempty"`
	Kill      *Kill      `json:"kill,omitempty"`
	SetDelays *SetDelays `json:"setDelays,omitempty"`
	Patch     *PatchPod  `json:"patch,omitempty"`
	Evict     *Evict     `json:"evict,omitempty"`

	RestartKubelet *RestartKubelet `json:"restartKubelet,omitempty"`
	RebootNode     *RebootNode     `json:"rebootNode,omitempty"`
	ShutdownNode   *ShutdownNode   `json:"shutdownNode,omitempty"`
	APIDown        *APIDown        `json:"apiDown,omitempty"`
	RuntimeDown    *RuntimeDown    `json:"runtimeDown,omitempty"`
	StepClock      *StepClock      `json:"stepClock,omitempty"`
}

// Kill ends a container from outside.
type Kill struct {
	Pod       string `json:"pod,omitempty"`       // as in Delete
	Container string `json:"container,omitempty"` // empty where each of the pods has only one
	Reason    string `json:"reason,omitempty"`    // OOMKilled if not given
	Remove    bool   `json:"remove,omitempty"`    // gone from the runtime too
}

// Evict has the kubelet evict pods, as it does when the node is short of memory.
type Evict struct {
	Pod string `json:"pod,omitempty"` // as in Delete
}

// RestartKubelet stops the kubelet and starts it again. Containers go on.
type RestartKubelet struct {
	Downtime *value.Draw `json:"downtime,omitempty"` // nil: 3s
}

// RebootNode ends all containers and the kubelet, and starts the kubelet again.
type RebootNode struct {
	Downtime *value.Draw `json:"downtime,omitempty"` // nil: 60s
}

// ShutdownNode tells the kubelet that its node is about to be shut down.
type ShutdownNode struct{}

// SetDelays has other delays hold for a while.
type SetDelays struct {
	For    *value.Draw `json:"for,omitempty"` // nil: for good
	Delays *Delays     `json:"delays"`

	text string // as written
}

// Delete deletes pods through the API.
type Delete struct {
	Pod                string `json:"pod,omitempty"`                // a pod or workload; empty where there is only one
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"` // nil: the pod's own; 0 forces
}
