package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// File is a file to read.
type File struct {
	Name string // for messages
	Data []byte
}

// Recording is what files tell about pods.
type Recording struct {
	Pods     []*Pod
	Facts    []*Fact // sorted by time; facts whose time is unknown come first
	Problems []Problem
	// Start and End are the times of the first and the last fact. They are zero if no fact has a time.
	Start, End time.Time

	// Relative says that no fact tells the date: the times count from an invented one.
	Relative bool

	templates []template
}

// Pod is a pod of a recording. Two pods of one name have different UIDs.
type Pod struct {
	Namespace, Name string
	UID             string // empty if no fact tells it
	Node            string
	// Object is the newest version of the pod in the recording, with its status. It is nil if the recording has only facts
	// about the pod. A pod that comes from the text of kubectl describe is Partial: the text does not contain all fields.
	Object  *v1.Pod
	Partial bool
	// Template is the place of the workload that has the spec of the pod, if no object has it.
	Template Place
	Place    Place // where the pod appears first
	// Unnamed says that the rows of a table do not name the pod. All rows of the table count as one pod.
	Unnamed bool
	Facts   []*Fact

	containers []string
}

// Key returns namespace/name.
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// Place is a line of a file. Line 0 stands for the whole file.
type Place struct {
	File string
	Line int
}

func (p Place) String() string {
	if p.Line == 0 {
		return printable.Text(p.File)
	}
	return fmt.Sprintf("%s:%d", printable.Text(p.File), p.Line)
}

// Problem is something in the files that could not be used, or that contradicts other facts.
type Problem struct {
	Place
	Message string
	// Lost says that a part of the input was not used.
	Lost bool
}

func (p Problem) String() string { return p.Place.String() + ": " + printable.Text(p.Message) }

// Moment is a time as exactly as a recording tells it: from At up to At plus Within. A zero At is an unknown time.
type Moment struct {
	At     time.Time
	Within time.Duration // 0: At is exact
}

// Known reports whether the time is known.
func (m Moment) Known() bool { return !m.At.IsZero() }

// End returns the last possible time.
func (m Moment) End() time.Time { return m.At.Add(m.Within) }

// Best returns the time at which to show the moment: its beginning, or its middle if it is longer than the seconds to which the API
// truncates times.
func (m Moment) Best() time.Time {
	if m.Within > time.Second {
		return m.At.Add(m.Within / 2)
	}
	return m.At
}

// overlaps reports whether two moments can be the same.
func (m Moment) overlaps(o Moment, slack time.Duration) bool {
	return !m.At.After(o.End().Add(slack)) && !o.At.After(m.End().Add(slack))
}

// Source is the format of a fact.
type Source string

// The formats of facts.
const (
	FromEvent    Source = "event"    // an Event object
	FromPod      Source = "pod"      // a Pod object
	FromDescribe Source = "describe" // text of kubectl describe or kubectl get events
	FromWatch    Source = "watch"    // text of kubectl get pods
	FromLog      Source = "log"      // a line of a log
)

// Kind is the type of a fact.
type Kind string

// The types of facts. The comments name the fields of each.
const (
	Event      Kind = "Event"      // Type, Reason, Message, Count, When and Last, Points
	Running    Kind = "Running"    // a container runs since When
	Waiting    Kind = "Waiting"    // a container waits: Reason, Message
	Terminated Kind = "Terminated" // a container ran from When to Last: ExitCode, Reason; Previous: it has started again
	Restarts   Kind = "Restarts"   // the restartCount of a container (or pod, in a watch) is Count at When
	Ready      Kind = "Ready"      // Value of ready of a container at When
	Started    Kind = "Started"    // Value of started of a container at When
	Condition  Kind = "Condition"  // the condition Reason of the pod has the Value since When, and at Last
	Phase      Kind = "Phase"      // the pod has the phase Value at When
	Created    Kind = "Created"    // the pod was created at When
	Deleted    Kind = "Deleted"    // the deletion of the pod was requested, or seen, at When
	Row        Kind = "Row"        // a row of kubectl get pods: Value is READY, Reason STATUS, Count RESTARTS
	ProbeRun   Kind = "ProbeRun"   // a probe run in a log: Probe, Result, Message
	ProbeSync  Kind = "ProbeSync"  // the sync loop handled a probe result: Probe, Value
	Lifecycle  Kind = "Lifecycle"  // an event of the PLEG: Reason, Message is the ID of the container
	Log        Kind = "Log"        // another line of a log: Reason, Message
)

// Fact is something that a file tells about a pod. Its Kind says which fields are set.
type Fact struct {
	Place     Place
	Source    Source
	Kind      Kind
	Pod       *Pod // nil for facts about the node
	Container string
	When      Moment
	Last      Moment
	Count     int
	Points    []Point // of an event: all known updates, in order

	Type, Reason, Message, Value string
	Probe                        trace.Probe
	Result                       trace.Result
	ExitCode                     int32
	Previous                     bool
	// AtLeast says that the source tells only the last occurrence of an event: it may have occurred before.
	AtLeast bool
}

// Point is an update of an event: it had happened Count times at At.
type Point struct {
	Count int
	At    Moment
}

// template is the pod template of a workload in a recording.
type template struct {
	place           Place
	namespace, name string
	pod             *v1.Pod
}

// link gives each pod its facts.
func (r *Recording) link() {
	for _, f := range r.Facts {
		if f.Pod != nil {
			f.Pod.Facts = append(f.Pod.Facts, f)
		}
	}
}

// finish sorts the facts and computes the time between them.
func (r *Recording) finish() {
	for _, f := range r.Facts {
		r.cover(f.When)
		r.cover(f.Last)
	}
	byTime := func(a, b *Fact) int { return a.When.At.Compare(b.When.At) }
	slices.SortStableFunc(r.Facts, byTime)
	for _, p := range r.Pods {
		slices.SortStableFunc(p.Facts, byTime)
	}
	slices.SortStableFunc(r.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

func (r *Recording) cover(m Moment) {
	if !m.Known() {
		return
	}
	if r.Start.IsZero() || m.At.Before(r.Start) {
		r.Start = m.At
	}
	if r.End.IsZero() || m.End().After(r.End) {
		r.End = m.End()
	}
}

// StartTime returns when the kubelet began to start the pod, as its status tells.
func (p *Pod) StartTime() Moment {
	if p == nil || p.Object == nil || p.Object.Status.StartTime == nil {
		return Moment{}
	}
	return second(*p.Object.Status.StartTime)
}

// Containers returns the names of the containers of the pod that facts or its spec name, init containers first.
func (p *Pod) Containers() []string { return p.containers }

// addContainer remembers the name of a container. It returns false if there are too many.
func (p *Pod) addContainer(name string) bool {
	switch {
	case name == "" || slices.Contains(p.containers, name):
		return true
	case len(p.containers) >= maxContainers:
		return false
	}
	p.containers = append(p.containers, name)
	return true
}

// Troubled reports whether a fact about the pod tells of a failure: a warning about a container, a restart, a failed probe, a
// container that waits or ended with an exit code other than 0, or a running pod that is not ready any more.
func (p *Pod) Troubled() bool {
	return p.turnedUnready() || slices.ContainsFunc(p.Facts, func(f *Fact) bool {
		switch f.Kind {
		case Event:
			return f.Type == "Warning" && f.Container != "" || f.Reason == "Killing" && ParseKilling(f.Message) != ByDeletion
		case Restarts, Row:
			return f.Count > 0
		case ProbeRun:
			return f.Result == trace.Failure || f.Result == trace.Error
		case Terminated:
			return f.ExitCode != 0
		case Waiting:
			return f.Reason == "CrashLoopBackOff"
		}
		return false
	})
}

// turnedUnready reports whether rows of kubectl get pods show a running pod first with all containers ready, and then not.
func (p *Pod) turnedUnready() bool {
	wasReady := false
	for _, f := range p.Facts {
		if f.Kind != Row || f.Reason != "Running" {
			continue
		}
		ready, all, _ := strings.Cut(f.Value, "/")
		if wasReady && ready != all {
			return true
		}
		wasReady = wasReady || ready == all
	}
	return false
}
