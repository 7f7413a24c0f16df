package format

import (
	"cmp"
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace/match"
)

// Debug adds an ephemeral container to pods, as kubectl debug does.
type Debug struct {
	Pod       string                `json:"pod,omitempty"` // as in Delete
	Container v1.EphemeralContainer `json:"container"`
}

func (d *Debug) Target() string { return d.Pod }

func (*Debug) Name() string { return "debug" }

// SetManifest changes the manifest of a static pod, and writes it again if it was removed.
type SetManifest struct {
	Pod      string                   `json:"pod,omitempty"` // as in Delete
	Metadata *part[metav1.ObjectMeta] `json:"metadata,omitempty"`
	Spec     *part[v1.PodSpec]        `json:"spec,omitempty"`
}

func (s *SetManifest) Target() string { return s.Pod }

func (*SetManifest) Name() string { return "setManifest" }

// RemoveManifest removes the manifest of a static pod.
type RemoveManifest struct {
	Pod string `json:"pod,omitempty"` // as in Delete
}

func (r *RemoveManifest) Target() string { return r.Pod }

func (*RemoveManifest) Name() string { return "removeManifest" }

// JSON returns the strategic merge patch of the manifest.
func (s *SetManifest) JSON() []byte {
	p := PatchPod{Metadata: s.Metadata, Spec: s.Spec}
	return p.JSON()
}

// Resize changes the resources of running pods, as kubectl patch --subresource resize does.
type Resize struct {
	Pod  string            `json:"pod,omitempty"` // as in Delete
	Spec *part[v1.PodSpec] `json:"spec"`
}

func (r *Resize) Target() string { return r.Pod }

func (*Resize) Name() string { return "resize" }

// JSON returns the patch for the API server.
func (r *Resize) JSON() []byte {
	data, err := json.Marshal(struct {
		Spec *part[v1.PodSpec] `json:"spec"`
	}{r.Spec})
	if err != nil {
		panic(err) // the part is valid JSON
	}
	return data
}

// Action is the action of a step.
type Action interface {
	// Name is the field name of the action.
	Name() string
	// Target is the pod or workload that the action applies to; empty for all pods and for the node.
	Target() string
}

// Actions returns the actions of a step. A valid step has exactly one.
func (s *Step) Actions() []Action {
	var list []Action
	add := func(a Action, given bool) {
		if given {
			list = append(list, a)
		}
	}
	add(s.Delete, s.Delete != nil)
	add(s.Kill, s.Kill != nil)
	add(s.SetDelays, s.SetDelays != nil)
	add(s.Patch, s.Patch != nil)
	add(s.Debug, s.Debug != nil)
	add(s.Resize, s.Resize != nil)
	add(s.SetManifest, s.SetManifest != nil)
	add(s.RemoveManifest, s.RemoveManifest != nil)
	add(s.Evict, s.Evict != nil)
	add(s.RestartKubelet, s.RestartKubelet != nil)
	add(s.RebootNode, s.RebootNode != nil)
	add(s.ShutdownNode, s.ShutdownNode != nil)
	add(s.APIDown, s.APIDown != nil)
	add(s.RuntimeDown, s.RuntimeDown != nil)
	add(s.RegistryDown, s.RegistryDown != nil)
	add(s.StepClock, s.StepClock != nil)
	return list
}

// Target returns the pod or workload that the step applies to. It is empty if the scenario has only one, or if
// the step applies to the node.
func (s *Step) Target() string { return s.Actions()[0].Target() }

// Step is an action and its time: either At, or After the first moment that Since matches. Exactly one action is
// set.
type Step struct {
	strict.Pos `json:"-"`
	Path       string        `json:"-"` // path of the step, as in spec.steps[0]
	Text       string        `json:"-"` // source text on one line
	ActionText string        `json:"-"` // source text of the action
	At         *value.Draw   `json:"at,omitempty"`
	Since      *match.Moment `json:"since,omitempty"`
	After      *value.Draw   `json:"after,omitempty"` // nil: 0s

	Delete    *Delete    `json:"delete,omitempty"`
	Kill      *Kill      `json:"kill,omitempty"`
	SetDelays *SetDelays `json:"setDelays,omitempty"`
	Patch     *PatchPod  `json:"patch,omitempty"`
	Debug     *Debug     `json:"debug,omitempty"`
	Resize    *Resize    `json:"resize,omitempty"`
	Evict     *Evict     `json:"evict,omitempty"`

	SetManifest    *SetManifest    `json:"setManifest,omitempty"`
	RemoveManifest *RemoveManifest `json:"removeManifest,omitempty"`

	RestartKubelet *RestartKubelet `json:"restartKubelet,omitempty"`
	RebootNode     *RebootNode     `json:"rebootNode,omitempty"`
	ShutdownNode   *ShutdownNode   `json:"shutdownNode,omitempty"`
	APIDown        *APIDown        `json:"apiDown,omitempty"`
	RuntimeDown    *RuntimeDown    `json:"runtimeDown,omitempty"`
	RegistryDown   *RegistryDown   `json:"registryDown,omitempty"`
	StepClock      *StepClock      `json:"stepClock,omitempty"`
}

func (d *Delete) Target() string { return d.Pod }

func (d *Delete) Name() string { return "delete" }

// Delete deletes pods through the API.
type Delete struct {
	Pod                string `json:"pod,omitempty"`                // a pod or workload; empty if the scenario has only one pod
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"` // nil: the grace period of the pod; 0: force
}

func (k *Kill) Target() string { return k.Pod }

func (k *Kill) Name() string { return "kill" }

// Kill ends a container with SIGKILL, or sends it SIGTERM.
type Kill struct {
	Pod       string `json:"pod,omitempty"`       // as in Delete
	Container string `json:"container,omitempty"` // empty if each of the pods has only one
	Reason    string `json:"reason,omitempty"`    // OOMKilled if not given
	Remove    bool   `json:"remove,omitempty"`    // remove the container from the runtime too
	Signal    string `json:"signal,omitempty"`    // SIGKILL if not given, or SIGTERM
}

func (e *Evict) Target() string { return e.Pod }

func (e *Evict) Name() string { return "evict" }

// Evict makes the kubelet evict pods, as it does when the node is short of memory.
type Evict struct {
	Pod string `json:"pod,omitempty"` // as in Delete
}

func (p *PatchPod) Target() string { return p.Pod }

func (p *PatchPod) Name() string { return "patch" }

func (*SetDelays) Target() string { return "" }

func (s *SetDelays) Name() string { return "setDelays" }

// SetDelays changes delays for some time.
type SetDelays struct {
	For    *value.Draw `json:"for,omitempty"` // nil: until the end of the run
	Delays *Delays     `json:"delays"`
}

func (*RestartKubelet) Target() string { return "" }

func (*RestartKubelet) Name() string { return "restartKubelet" }

// RestartKubelet stops the kubelet and starts it again. Containers keep running.
type RestartKubelet struct {
	Downtime *value.Draw `json:"downtime,omitempty"` // nil: 3s
}

func (*RebootNode) Target() string { return "" }

func (*RebootNode) Name() string { return "rebootNode" }

// RebootNode ends all containers and the kubelet, and starts the kubelet again.
type RebootNode struct {
	Downtime *value.Draw `json:"downtime,omitempty"` // nil: 60s
}

func (*ShutdownNode) Target() string { return "" }

func (*ShutdownNode) Name() string { return "shutdownNode" }

// ShutdownNode tells the kubelet that the node is about to shut down.
type ShutdownNode struct{}

// APIDown cuts the kubelet off from the API server. Other steps still reach the API server.
type APIDown struct {
	For *value.Draw `json:"for,omitempty"` // nil: until the end of the run
}

func (*APIDown) Target() string { return "" }

func (*APIDown) Name() string { return "apiDown" }

// RuntimeDown makes calls to the container runtime fail, or makes a runtime condition false.
type RuntimeDown struct {
	For       *value.Draw `json:"for,omitempty"`       // nil: until the end of the run
	Condition string      `json:"condition,omitempty"` // the condition that is false; empty: calls fail
}

func (*RuntimeDown) Target() string { return "" }

func (*RuntimeDown) Name() string { return "runtimeDown" }

// RegistryDown makes pulls of images fail.
type RegistryDown struct {
	For *value.Draw `json:"for,omitempty"` // nil: until the end of the run
}

func (*RegistryDown) Target() string { return "" }

func (*RegistryDown) Name() string { return "registryDown" }

// StepClock makes the wall clock of the node jump forward, or back if By is negative. Timers are not affected.
type StepClock struct {
	By value.Offset `json:"by"`
}

func (*StepClock) Target() string { return "" }

func (*StepClock) Name() string { return "stepClock" }

// defaultKillReason is the reason of the kernel's OOM killer.
const defaultKillReason = "OOMKilled"

// ReasonOr returns the reason that the runtime reports.
func (k *Kill) ReasonOr() string { return cmp.Or(k.Reason, defaultKillReason) }

// sigterm is the signal that a program can handle.
const sigterm = "SIGTERM"

// IsSigterm reports whether the program gets a signal that it can handle.
func (k *Kill) IsSigterm() bool { return k.Signal == sigterm }

// Action returns the name of the action of a step, such as delete, and "" if it has none.
func (s *Step) Action() string {
	if list := s.Actions(); len(list) > 0 {
		return list[0].Name()
	}
	return ""
}
