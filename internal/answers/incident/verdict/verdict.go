// Package verdict says why the containers of a recording restarted, or are not ready.
//
// [Of] weighs the facts of package incident with rules. A rule is evidence for a cause, or excludes
// one. Nothing is simulated or searched, and no clock is read. Silence proves nothing: what a text
// does not show is unknown.
package verdict

import (
	"time"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/trace"
)

// Cause is why a container is in trouble. The values are stable: -o json has them.
type Cause string

// The causes.
const (
	// the liveness probe failed often enough, and the kubelet killed the container
	LivenessProbe Cause = "livenessProbe"
	StartupProbe  Cause = "startupProbe" // likewise the startup probe
	OwnExit       Cause = "ownExit"      // the program ended by itself
	OutOfMemory   Cause = "outOfMemory"
	Image         Cause = "image"         // cannot be pulled, or has no valid name
	Configuration Cause = "configuration" // a part of it, such as a secret, is missing, or not allowed
	CannotStart   Cause = "cannotStart"   // the runtime cannot start the command or its mounts
	PostStartHook Cause = "postStartHook" // the hook failed, and the kubelet killed the container
	Rejected      Cause = "rejected"      // the API server does not take the pods of a workload
	Unschedulable Cause = "unschedulable" // no node takes the pod
	Volume        Cause = "volume"        // a volume cannot be mounted
	Sandbox       Cause = "sandbox"       // the network or the sandbox of the pod cannot be made
	Changed       Cause = "changed"       // the kubelet replaced it: its definition changed, or it was resized
	Removed       Cause = "removed"       // the pod was deleted, evicted or preempted
	Node          Cause = "node"          // the node, its runtime or the sandbox went away
	NotReady      Cause = "notReady"      // runs, and its readiness probe fails
	ReadinessGate Cause = "readinessGate" // a condition of the readiness gates of the pod is not true
	Failing       Cause = "failing"       // a liveness or startup probe fails, and has not killed the container yet
	Waiting       Cause = "waiting"       // for an init container, or for its start, without a sign of trouble
	Nothing       Cause = "nothing"       // is wrong now
	NoFacts       Cause = "noFacts"       // the input has no facts about pods
	Unknown       Cause = "unknown"       // trouble that the facts do not explain
)

// Sure is how sure a verdict is. The values are stable.
type Sure string

// The degrees.
const (
	Certain Sure = "certain" // a fact proves the cause
	Likely  Sure = "likely"  // strong evidence, no proof
	Open    Sure = "open"    // several causes are left, or none is known
)

// Evidence is a fact that the verdict rests on.
type Evidence struct {
	incident.Place
	Text string `json:"text"` // the fact in a line, as in the input
}

// Question separates the causes that are left.
type Question struct {
	Asks    string `json:"question"`          // a sentence
	Command string `json:"command,omitempty"` // the command that answers it; empty if there is none
}

// Verdict says why one container is in trouble, or the pod if Container is empty. docs/json.md
// describes its form in JSON. Fields are only added.
type Verdict struct {
	Pod       *incident.Pod `json:"-"`
	Container string        `json:"container,omitempty"`
	Cause     Cause         `json:"cause"`
	Or        []Cause       `json:"or,omitempty"` // further causes that are left; only if Sure is Open
	Sure      Sure          `json:"sure"`

	Sentence  string     `json:"sentence"`          // the answer, in one sentence
	Because   string     `json:"because,omitempty"` // what the failures of the probe mean, in one sentence; or empty
	Details   []string   `json:"details"`           // sentences: the arithmetic, what does not fit
	Evidence  []Evidence `json:"evidence"`
	Advice    []string   `json:"advice"` // sentences; only what the evidence supports
	*Question            // nil if nothing is left to ask

	Probe    trace.Probe `json:"probe,omitempty"`    // the probe that the verdict is about, or empty
	Class    Class       `json:"class,omitempty"`    // of its failures, or empty
	Kills    int         `json:"kills,omitempty"`    // by the probe, at least
	Restarts int         `json:"-"`                  // -1: unknown
	ExitCode *int32      `json:"exitCode,omitempty"` // of the last end that is known
	Life     *Span       `json:"life,omitempty"`     // of the last ended instance, if known
	// the earliest and the latest kill after a start, if the settings are known
	Window  *Span  `json:"window,omitempty"`
	Finding string `json:"finding,omitempty"` // the ID of the closest finding of check, or empty
	// the command that goes on with the numbers of the recording, or empty, and what is before it
	Next     string `json:"next,omitempty"`
	NextSays string `json:"-"`

	readyNow bool
	generic  bool // the facts about the pod do not say why
}

// Span is a duration that is known to a range, in nanoseconds in JSON.
type Span struct {
	Least    time.Duration `json:"least"`
	Greatest time.Duration `json:"greatest"`
}

// Report has the verdicts of a recording, the worst first, and the pods without trouble.
type Report struct {
	Verdicts []Verdict
	Quiet    []*incident.Pod
}
