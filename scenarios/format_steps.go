package scenarios

import (
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace/match"
)

// action is the action of a step.
type action interface {
	// name is the field name of the action.
	name() string
	// target is the pod or workload that the action applies to; empty for all pods and for the node.
	target() string
	// check reports errors at n.
	check(c *checker, n *strict.Node)
	// do executes the action of step i and reports whether it had an effect.
	do(d *Driver, i int) bool
}

// actions returns the actions of a step. A valid step has exactly one.
func (s *Step) actions() []action {
	var list []action
	add := func(a action, given bool) {
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
func (s *Step) Target() string { return s.actions()[0].target() }

// Step is an action and its time: either At, or After the first moment that Since matches. Exactly one action is
// set.
type Step struct {
	Pos   `json:"-"`
	Path  string        `json:"-"` // path of the step, as in spec.steps[0]
	Text  string        `json:"-"` // source text on one line
	At    *value.Draw   `json:"at,omitempty"`
	Since *match.Moment `json:"since,omitempty"`
	After *value.Draw   `json:"after,omitempty"` // nil: 0s

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

func (d *Delete) target() string { return d.Pod }

func (d *Delete) name() string { return "delete" }

// Delete deletes pods through the API.
type Delete struct {
	Pod                string `json:"pod,omitempty"`                // a pod or workload; empty if the scenario has only one pod
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"` // nil: the grace period of the pod; 0: force
}

func (k *Kill) target() string { return k.Pod }

func (k *Kill) name() string { return "kill" }

// Kill ends a container with SIGKILL, or sends it SIGTERM.
type Kill struct {
	Pod       string `json:"pod,omitempty"`       // as in Delete
	Container string `json:"container,omitempty"` // empty if each of the pods has only one
	Reason    string `json:"reason,omitempty"`    // OOMKilled if not given
	Remove    bool   `json:"remove,omitempty"`    // remove the container from the runtime too
	Signal    string `json:"signal,omitempty"`    // SIGKILL if not given, or SIGTERM
}

func (e *Evict) target() string { return e.Pod }

func (e *Evict) name() string { return "evict" }

// Evict makes the kubelet evict pods, as it does when the node is short of memory.
type Evict struct {
	Pod string `json:"pod,omitempty"` // as in Delete
}

func (p *PatchPod) target() string { return p.Pod }

func (p *PatchPod) name() string { return "patch" }

func (*SetDelays) target() string { return "" }

func (s *SetDelays) name() string { return "setDelays" }

// SetDelays changes delays for some time.
type SetDelays struct {
	For    *value.Draw `json:"for,omitempty"` // nil: until the end of the run
	Delays *Delays     `json:"delays"`

	text string // source text on one line
}

func (*RestartKubelet) target() string { return "" }

func (*RestartKubelet) name() string { return "restartKubelet" }

// RestartKubelet stops the kubelet and starts it again. Containers keep running.
type RestartKubelet struct {
	Downtime *value.Draw `json:"downtime,omitempty"` // nil: 3s
}

func (*RebootNode) target() string { return "" }

func (*RebootNode) name() string { return "rebootNode" }

// RebootNode ends all containers and the kubelet, and starts the kubelet again.
type RebootNode struct {
	Downtime *value.Draw `json:"downtime,omitempty"` // nil: 60s
}

func (*ShutdownNode) target() string { return "" }

func (*ShutdownNode) name() string { return "shutdownNode" }

// ShutdownNode tells the kubelet that the node is about to shut down.
type ShutdownNode struct{}

// APIDown cuts the kubelet off from the API server. Other steps still reach the API server.
type APIDown struct {
	For *value.Draw `json:"for,omitempty"` // nil: until the end of the run

	text string // source text on one line
}

func (*APIDown) target() string { return "" }

func (*APIDown) name() string { return "apiDown" }

// RuntimeDown makes calls to the container runtime fail, or makes a runtime condition false.
type RuntimeDown struct {
	For       *value.Draw `json:"for,omitempty"`       // nil: until the end of the run
	Condition string      `json:"condition,omitempty"` // the condition that is false; empty: calls fail

	text string // source text on one line
}

func (*RuntimeDown) target() string { return "" }

func (*RuntimeDown) name() string { return "runtimeDown" }

// RegistryDown makes pulls of images fail.
type RegistryDown struct {
	For *value.Draw `json:"for,omitempty"` // nil: until the end of the run

	text string // source text on one line
}

func (*RegistryDown) target() string { return "" }

func (*RegistryDown) name() string { return "registryDown" }

// StepClock makes the wall clock of the node jump forward, or back if By is negative. Timers are not affected.
type StepClock struct {
	By value.Offset `json:"by"`

	text string // source text on one line
}

func (*StepClock) target() string { return "" }

func (*StepClock) name() string { return "stepClock" }
