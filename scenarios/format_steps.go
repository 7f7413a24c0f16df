package scenarios

import (
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace/match"
)

// action is what a step does.
type action interface {
	// name is that of the field.
	name() string
	// target is the pod or workload that it is about, empty for all or the node.
	target() string
	// check reports what is wrong with it.
	check(c *checker, n *strict.Node)
	// do does it, and reports whether there was something to do it to.
	do(d *Driver, i int) bool
}

// actions returns what a step does: one action if it is right.
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
	add(s.Evict, s.Evict != nil)
	add(s.RestartKubelet, s.RestartKubelet != nil)
	add(s.RebootNode, s.RebootNode != nil)
	add(s.ShutdownNode, s.ShutdownNode != nil)
	add(s.APIDown, s.APIDown != nil)
	add(s.RuntimeDown, s.RuntimeDown != nil)
	add(s.StepClock, s.StepClock != nil)
	return list
}

// Target returns the name of the pod or workload that the step is about; it is empty if that is the only one, or
// the node.
func (s *Step) Target() string { return s.actions()[0].target() }

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

func (d *Delete) target() string { return d.Pod }

func (d *Delete) name() string { return "delete" }

// Delete deletes pods through the API.
type Delete struct {
	Pod                string `json:"pod,omitempty"`                // a pod or workload; empty where there is only one
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty"` // nil: the pod's own; 0 forces
}

func (k *Kill) target() string { return k.Pod }

func (k *Kill) name() string { return "kill" }

// Kill ends a container from outside.
type Kill struct {
	Pod       string `json:"pod,omitempty"`       // as in Delete
	Container string `json:"container,omitempty"` // empty where each of the pods has only one
	Reason    string `json:"reason,omitempty"`    // OOMKilled if not given
	Remove    bool   `json:"remove,omitempty"`    // gone from the runtime too
}

func (e *Evict) target() string { return e.Pod }

func (e *Evict) name() string { return "evict" }

// Evict has the kubelet evict pods, as it does when the node is short of memory.
type Evict struct {
	Pod string `json:"pod,omitempty"` // as in Delete
}

func (p *PatchPod) target() string { return p.Pod }

func (p *PatchPod) name() string { return "patch" }

func (*SetDelays) target() string { return "" }

func (s *SetDelays) name() string { return "setDelays" }

// SetDelays has other delays hold for a while.
type SetDelays struct {
	For    *value.Draw `json:"for,omitempty"` // nil: for good
	Delays *Delays     `json:"delays"`

	text string // as written
}

func (*RestartKubelet) target() string { return "" }

func (*RestartKubelet) name() string { return "restartKubelet" }

// RestartKubelet stops the kubelet and starts it again. Containers go on.
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

// ShutdownNode tells the kubelet that its node is about to be shut down.
type ShutdownNode struct{}

// APIDown cuts the kubelet off from the API server. Other steps still reach it.
type APIDown struct {
	For *value.Draw `json:"for,omitempty"` // nil: for good

	text string // as written
}

func (*APIDown) target() string { return "" }

func (*APIDown) name() string { return "apiDown" }

// RuntimeDown has calls to the container runtime fail, or its status say that a condition is false.
type RuntimeDown struct {
	For       *value.Draw `json:"for,omitempty"`       // nil: for good
	Condition string      `json:"condition,omitempty"` // the one that is false; empty: calls fail

	text string // as written
}

func (*RuntimeDown) target() string { return "" }

func (*RuntimeDown) name() string { return "runtimeDown" }

// StepClock has the wall clock of the node jump. Timers do not.
type StepClock struct {
	By value.Offset `json:"by"`

	text string // as written
}

func (*StepClock) target() string { return "" }

func (*StepClock) name() string { return "stepClock" }
