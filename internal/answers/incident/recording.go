package incident

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// Recording is what files tell about pods.
type Recording struct {
	Pods     []*Pod
	Facts    []*Fact // sorted by time; facts whose time is unknown come first
	Problems []Problem
	// Unread has the first 200 lines that fit no format; UnreadLines counts all of them. They are
	// no problems.
	Unread      []Unread
	UnreadLines int
	Signs       []Sign // those among them that may say why something does not run
	// Abridged says that lines are left out of the text: one has only dots.
	Abridged bool
	// Start and End are the times of the first and the last fact. They are zero if no fact has a
	// time.
	Start, End time.Time

	// Relative says that no fact tells the date: the times count from an invented one.
	Relative bool

	templates []template
}

// Pod is a pod of a recording. Two pods of one name have different UIDs.
type Pod struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"` // empty if no fact tells it
	Node      string `json:"node,omitempty"`
	// Object is the newest version of the pod in the recording, with its status. It is nil if the
	// recording has only facts about the pod. A pod that comes from the text of kubectl describe is
	// Partial: the text does not contain all fields.
	Object  *v1.Pod `json:"-"`
	Partial bool    `json:"-"`
	// Template is the place of the workload that has the spec of the pod, if no object has it.
	Template Place `json:"-"`
	Place    Place `json:"-"` // where the pod appears first
	// Unnamed says that the rows of a table do not name the pod. All rows of the table count as one
	// pod.
	Unnamed bool `json:"-"`
	Mixed   bool `json:"-"` // Unnamed, and the text names several pods: the facts can be of any of them
	// Replaced says that the pod was deleted, and that a new one of its name follows it in the
	// text.
	Replaced bool    `json:"-"`
	Facts    []*Fact `json:"-"`
	// Described has the containers of which kubectl describe shows the fields around their probes.
	Described []string `json:"-"`
	// More says that the pod has another container than the only one that the facts name.
	More bool `json:"-"`

	containers []string
}

// Key returns namespace/name.
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// Place is a line of a file. Line 0 stands for the whole file.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line,omitzero"`
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
	Message string `json:"message"`
	// Lost says that a part of the input was not used.
	Lost bool `json:"lost,omitempty"`
}

func (p Problem) String() string { return p.Place.String() + ": " + printable.Text(p.Message) }

// Unread is a line that fits no format.
type Unread struct {
	Place
	Text string `json:"text"` // trimmed, at most 200 bytes
}

// Moment is a time as exactly as a recording tells it: from At up to At plus Within. A zero At is
// an unknown time.
type Moment struct {
	At     time.Time     `json:"time"`
	Within time.Duration `json:"within"` // 0: At is exact
}

// Known reports whether the time is known.
func (m Moment) Known() bool { return !m.At.IsZero() }

// End returns the last possible time.
func (m Moment) End() time.Time { return m.At.Add(m.Within) }

// Best returns the time at which to show the moment: its beginning, or its middle if it is longer
// than the seconds to which the API truncates times.
func (m Moment) Best() time.Time {
	if m.Within > time.Second {
		return m.At.Add(m.Within / 2)
	}
	return m.At
}

// overlaps reports whether two moments can be the same.
func (m Moment) overlaps(o Moment) bool {
	return !m.At.After(o.End()) && !o.At.After(m.End())
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
	FromText     Source = "text"     // the words of a message, in a text of a person
)

// Kind is the type of a fact.
type Kind string

// The types of facts. The comments name the fields of each.
const (
	Event   Kind = "Event"   // Type, Reason, Message, Count, When and Last, Points
	Running Kind = "Running" // a container runs since When; Count is its restartCount, or -1
	Waiting Kind = "Waiting" // a container waits: Reason, Message; Count as above
	// a container ran from When to Last: ExitCode if ExitKnown, Reason; Previous: it has started
	// again; Count as above
	Terminated Kind = "Terminated"
	Restarts   Kind = "Restarts"  // the restartCount of a container (or pod, in a watch) is Count at When
	Ready      Kind = "Ready"     // Value of ready of a container at When
	Started    Kind = "Started"   // Value of started of a container at When
	Condition  Kind = "Condition" // the condition Reason of the pod has the Value since When, and at Last
	Phase      Kind = "Phase"     // the pod has the phase Value at When
	Created    Kind = "Created"   // the pod was created at When
	Deleted    Kind = "Deleted"   // the deletion of the pod was requested, or seen, at When
	Row        Kind = "Row"       // a row of kubectl get pods: Value is READY, Reason STATUS, Count RESTARTS
	ProbeRun   Kind = "ProbeRun"  // a probe run in a log: Probe, Result, Message
	ProbeSync  Kind = "ProbeSync" // the sync loop handled a probe result: Probe, Value
	Lifecycle  Kind = "Lifecycle" // an event of the PLEG: Reason, Message is the ID of the container
	Log        Kind = "Log"       // another line of a log: Reason, Message
)

// Fact is something that a file tells about a pod. Its Kind says which fields are set.
type Fact struct {
	Place
	Source    Source `json:"source"`
	Kind      Kind   `json:"kind"`
	Pod       *Pod   `json:"-"` // nil for facts about the node
	Container string `json:"container,omitempty"`
	When      Moment `json:"at,omitzero"`
	Last      Moment `json:"-"`
	Count     int    `json:"-"`
	// Points are all known updates of an event, in order.
	Points    []Point      `json:"-"`
	Type      string       `json:"type,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Message   string       `json:"message,omitempty"`
	Value     string       `json:"value,omitempty"`
	Probe     trace.Probe  `json:"probe,omitempty"`
	Result    trace.Result `json:"result,omitempty"`
	ExitCode  int32        `json:"-"`
	ExitKnown bool         `json:"-"` // the source has the exit code
	Previous  bool         `json:"previous,omitempty"`
	// AtLeast says that the source tells only the last occurrence of an event: it may have occurred
	// before.
	AtLeast bool `json:"atLeast,omitempty"`
	// CountShown says that the source prints the count of an event. Otherwise Count is the number
	// of rows.
	CountShown bool `json:"-"`
	// Age is how long before the text was printed the pod was created (of a row), or the event last
	// occurred. The true age is less than AgeWithin more, which is zero if the age is unknown.
	Age, AgeWithin time.Duration `json:"-"`
	// Ago is how long before a row was printed the last restart was, and likewise less than
	// AgoWithin more.
	Ago, AgoWithin time.Duration `json:"-"`
	// Aged says that When and Last count back from the moment at which a text was printed, and that
	// nothing dates this moment: do not compare them with dates.
	Aged bool `json:"-"`
	// Listing is the number of the output of kubectl get pods that has a row.
	Listing int `json:"-"`
	// Instance is the number of the instance of a Terminated fact, or -1.
	Instance int    `json:"-"`
	Text     string `json:"-"` // the line of the fact, trimmed, at most 200 bytes; empty for objects

	section *section // of a row of a text with ages
	ages    [2]age   // of When and Last
}

// Point is an update of an event: it had happened Count times at At.
type Point struct {
	Count int
	At    Moment
}

// template is the pod template of a workload in a recording, with the name of the workload.
type template struct {
	place Place
	kind  string // of the workload
	pod   *v1.Pod
}

// finish sorts the facts, and computes the time between them and the facts of each pod.
func (r *Recording) finish() {
	slices.SortStableFunc(r.Facts, func(a, b *Fact) int { return a.When.At.Compare(b.When.At) })
	for _, f := range r.Facts {
		for _, m := range []Moment{f.When, f.Last} {
			if m.Known() && (r.Start.IsZero() || m.At.Before(r.Start)) {
				r.Start = m.At
			}
			if m.Known() && m.End().After(r.End) {
				r.End = m.End()
			}
		}
		if f.Pod != nil {
			f.Pod.Facts = append(f.Pod.Facts, f)
		}
	}
	slices.SortStableFunc(r.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// startTime returns when the kubelet began to start a pod, as its status tells.
func startTime(pod *v1.Pod) Moment {
	if pod == nil || pod.Status.StartTime == nil {
		return Moment{}
	}
	return second(*pod.Status.StartTime)
}

// Containers returns the names of the containers of the pod that facts or its spec name, init
// containers first.
func (p *Pod) Containers() []string { return p.containers }

func (p *Pod) addContainers(spec *v1.PodSpec) {
	for c := range podutil.Containers(spec) {
		p.addContainer(c.Name)
	}
}

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
