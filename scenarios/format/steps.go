package format

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

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

// SetManifest changes the manifest of a static pod, and writes it again if it was removed.
type SetManifest struct {
	Pod      string                   `json:"pod,omitempty"` // as in Delete
	Metadata *part[metav1.ObjectMeta] `json:"metadata,omitempty"`
	Spec     *part[v1.PodSpec]        `json:"spec,omitempty"`
}

// RemoveManifest removes the manifest of a static pod.
type RemoveManifest struct {
	Pod string `json:"pod,omitempty"` // as in Delete
}

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

// JSON returns the patch for the API server.
func (r *Resize) JSON() []byte {
	p := PatchPod{Spec: r.Spec}
	return p.JSON()
}

// Action is the action of a step.
type Action struct {
	Name   string // the field name of the action, such as delete
	Value  any    // the field, such as a *Delete
	Target string // the pod or workload that the action applies to; empty for all pods and for the node
}

// stepTimes are the fields of a step that are no actions.
var stepTimes = []string{"At", "Since", "After"}

// Actions returns the actions of a step. A valid step has exactly one, and a step that could not be
// read is nil.
func (s *Step) Actions() []Action {
	if s == nil {
		return nil
	}
	var all []Action
	for field, v := range reflect.ValueOf(s).Elem().Fields() {
		if field.Type.Kind() != reflect.Pointer || v.IsNil() || slices.Contains(stepTimes, field.Name) {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		a := Action{Name: name, Value: v.Interface()}
		for _, target := range []string{"Pod", "Workload"} {
			if of := v.Elem().FieldByName(target); of.IsValid() {
				a.Target = of.String()
			}
		}
		all = append(all, a)
	}
	return all
}

// Step is an action and its time: either At, or After the first moment that Since matches. Exactly
// one action is set.
type Step struct {
	strict.Pos `json:"-"`
	Path       string        `json:"-"` // path of the step, as in spec.steps[0]
	Text       string        `json:"-"` // source text on one line
	ActionText string        `json:"-"` // source text of the action
	Flag       string        `json:"-"` // the words of the flag --app that the step stands for, as in Rule
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
	FailCall       *FailCall       `json:"failCall,omitempty"`

	Rollout *Rollout `json:"rollout,omitempty"`
	Scale   *Scale   `json:"scale,omitempty"`
}

// Delete deletes pods through the API.
type Delete struct {
	// a pod or workload; empty if the scenario has only one pod
	Pod                string `json:"pod,omitempty"`
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"` // nil: the grace period of the pod; 0: force
}

// Kill ends a container with SIGKILL, or sends it SIGTERM.
type Kill struct {
	Pod       string `json:"pod,omitempty"`       // as in Delete
	Container string `json:"container,omitempty"` // empty if each of the pods has only one
	Reason    string `json:"reason,omitempty"`    // OOMKilled if not given
	Remove    bool   `json:"remove,omitempty"`    // remove the container from the runtime too
	Signal    string `json:"signal,omitempty"`    // SIGKILL if not given, or SIGTERM
}

// Evict makes the kubelet evict pods, as it does when the node is short of memory.
type Evict struct {
	Pod string `json:"pod,omitempty"` // as in Delete
}

// SetDelays changes delays for some time.
type SetDelays struct {
	For    *value.Draw `json:"for,omitempty"` // nil: until the end of the run
	Delays *Delays     `json:"delays"`
}

// RestartKubelet stops the kubelet and starts it again. Containers keep running.
type RestartKubelet struct {
	Downtime *value.Draw `json:"downtime,omitempty"` // nil: 3s
}

// RebootNode ends all containers and the kubelet, and starts the kubelet again.
type RebootNode struct {
	Downtime *value.Draw `json:"downtime,omitempty"` // nil: 60s
}

// ShutdownNode tells the kubelet that the node is about to shut down.
type ShutdownNode struct{}

// APIDown cuts the kubelet off from the API server. Other steps still reach the API server.
type APIDown struct {
	For *value.Draw `json:"for,omitempty"` // nil: until the end of the run
}

// RuntimeDown makes calls to the container runtime fail, or makes a runtime condition false.
type RuntimeDown struct {
	For       *value.Draw `json:"for,omitempty"`       // nil: until the end of the run
	Condition string      `json:"condition,omitempty"` // the condition that is false; empty: calls fail
}

// RegistryDown makes pulls of images fail.
type RegistryDown struct {
	For *value.Draw `json:"for,omitempty"` // nil: until the end of the run
}

// FailCall makes the next calls of the kubelet to the runtime or the API server fail.
type FailCall struct {
	Call      string `json:"call"`                // a name in fakeruntime.Calls
	Pod       string `json:"pod,omitempty"`       // calls about these pods; empty: about any
	Container string `json:"container,omitempty"` // calls about this container; empty: about any
	Count     *int64 `json:"count,omitempty"`     // nil: 1
	Effect    string `json:"effect,omitempty"`    // EffectNone if not given, or EffectDone
	Error     string `json:"error,omitempty"`     // the text of the error
}

// Effects of a call that fails.
const (
	EffectNone = "none"
	EffectDone = "done" // only the answer is lost
)

// StepClock makes the wall clock of the node jump forward, or back if By is negative. Timers are
// not affected.
type StepClock struct {
	By value.Offset `json:"by"`
}

// defaultKillReason is the reason of the kernel's OOM killer.
const defaultKillReason = "OOMKilled"

// ReasonOr returns the reason that the runtime reports.
func (k *Kill) ReasonOr() string { return cmp.Or(k.Reason, defaultKillReason) }

// sigterm is the signal that a program can handle.
const sigterm = "SIGTERM"

// IsSigterm reports whether the program gets a signal that it can handle.
func (k *Kill) IsSigterm() bool { return k.Signal == sigterm }
