// Package history groups the records of a run by pod and container: the conditions, instances,
// probe runs and events of each. Timelines, pages and Perfetto files are drawn from a [History].
package history

import (
	"cmp"
	"slices"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// History is a trace grouped by pod. It keeps references to the records.
type History struct {
	Pods    []*Pod // in the order of their first records
	Kubelet []Flip // whether the kubelet runs; empty if it never stopped
	Marks   []Mark // actions on the node
	// Workloads and Services are empty without a control plane.
	Workloads []*Workload
	Services  []*Service
	// Changes are the times of changes, sorted. Repeated probe results and repeated events are not
	// changes.
	Changes []virtual.Time
	End     virtual.Time

	byName map[string]*Pod
	seen   map[string]bool
}

// Pod is the history of one pod.
type Pod struct {
	Name       string // namespace/name
	Added      virtual.Time
	Removed    virtual.Time // Forever if it was not removed
	Marks      []Mark       // actions on the pod
	Ready      []Flip
	Status     *trace.PodStatus // the last one
	Containers []*Container     // in the order of the status
	Events     []*trace.Record  // of the pod and its containers
	Waits      []Action         // for volumes
	Unknown    []Span           // when Ready is unknown; see Container

	byName map[string]*Container
	read   *trace.Record // the record that is being read
}

// Container is the history of one container, over all its instances.
type Container struct {
	Name    string
	Added   virtual.Time // when a container was added that is younger than its pod; otherwise 0
	Runs    []Instance
	States  []State
	Started []Flip
	Ready   []Flip
	Probes  map[trace.Probe][]*trace.Record // probe runs
	Hooks   []Action
	Pulls   []Action // of its image
	Windows []Window // of the rules of its program
	// Unknown has the times about which a recording of a cluster tells nothing, by the name of a
	// lane: one of the constants below, or a probe. The trace of a run tells everything.
	Unknown map[string][]Span
}

// The names of lanes in Container.Unknown, besides those of the probes.
const (
	LaneLife    = "life"
	LaneStarted = "started"
	LaneReady   = "ready"
)

// Span is a time from From until before To.
type Span = virtual.Span

// Mark is an action from outside, such as a step of the scenario.
type Mark struct {
	At     virtual.Time
	What   string
	Record *trace.Record
}

// Window is a time during which a rule of the scenario was open.
type Window struct {
	fakeruntime.Window
	Name string // what the program does
	Says string // where the rule is, and its words
}

// AddWindows adds windows to their containers, by the numbers of the rules.
func (h *History) AddWindows(list []Window) {
	for _, w := range slices.SortedStableFunc(slices.Values(list),
		func(a, b Window) int { return cmp.Compare(a.Rule, b.Rule) }) {
		if p := h.byName[w.Pod]; p != nil && p.byName[w.Container] != nil {
			c := p.byName[w.Container]
			c.Windows = append(c.Windows, w)
		}
	}
}

// Flip is a new value of a condition, which holds until the next Flip. Record is nil for an initial
// value.
type Flip struct {
	At     virtual.Time
	On     bool
	Record *trace.Record
}

// Instance is one run of a container. A time is Forever if the event did not occur.
type Instance struct {
	Number                    int
	Started, Stopping, Exited virtual.Time
	Killing                   virtual.Time // time of the Killing event, with which the kubelet announces the stop
	Code                      int32        // exit code
	Vague                     bool         // a recording tells neither the exit code nor the time of the exit
	Records                   []*trace.Record
}

// State is the state of a container in the pod status from a time on: waiting, running or
// terminated.
type State struct {
	At           virtual.Time
	Name, Reason string
	Record       *trace.Record
}

// Forever is the time of an event that does not occur.
const Forever = virtual.Max

// Read returns the history of a run that ends at end, or with its last record if end is 0.
func Read(records []trace.Record, end virtual.Time) *History {
	h := &History{End: end, byName: map[string]*Pod{}, seen: map[string]bool{}}
	if end == 0 && len(records) > 0 {
		h.End = records[len(records)-1].T
	}
	for i := range records {
		r := &records[i]
		switch {
		case r.Kind == trace.KubeletStopped || r.Kind == trace.KubeletStarted:
			h.addKubelet(r)
		case r.Kind == trace.Step && r.Pod == "":
			h.Marks = append(h.Marks, stepMark(r))
			h.changed(r.T, "")
		case r.Object != nil && r.Kind.Controlled() && r.Kind != trace.PodScheduled && r.Kind != trace.ListenerChanged:
			h.addObject(r)
		case r.Kind.Observable() && r.Pod != "":
			h.pod(r).add(r, h)
		}
	}
	h.addLosses(records)
	slices.Sort(h.Changes)
	return h
}

func (h *History) addKubelet(r *trace.Record) {
	if len(h.Kubelet) == 0 && r.Kind == trace.KubeletStarted {
		return // the first start is not a change
	}
	if len(h.Kubelet) == 0 {
		h.Kubelet = []Flip{{0, true, nil}}
	}
	h.Kubelet = append(h.Kubelet, Flip{r.T, r.Kind == trace.KubeletStarted, r})
	h.Changes = append(h.Changes, r.T)
}

func (h *History) pod(r *trace.Record) *Pod {
	p := h.byName[r.Pod]
	if p == nil {
		p = &Pod{Name: r.Pod, Added: r.T, Removed: Forever, byName: map[string]*Container{}}
		h.byName[r.Pod] = p
		h.Pods = append(h.Pods, p)
	}
	return p
}

// changed records a change at t. If key is not empty, only the first change with the key counts.
func (h *History) changed(t virtual.Time, key string) {
	if key != "" {
		if h.seen[key] {
			return
		}
		h.seen[key] = true
	}
	h.Changes = append(h.Changes, t)
}

func (p *Pod) add(r *trace.Record, h *History) {
	p.read = r
	switch r.Kind {
	case trace.StatusPatched:
		p.addStatus(r, h)
		return
	case trace.Event:
		p.Events = append(p.Events, r)
		h.changed(r.T, r.Pod+"\x00"+r.Container+"\x00"+r.Reason+"\x00"+r.Message)
		if r.Reason == "Killing" && r.Container != "" {
			if run := p.container(r.Container).running(r.Instance); run != nil && run.Killing == Forever {
				run.Killing = r.T
			}
		}
		return
	case trace.ProbeExecuted:
		p.container(r.Container).addProbe(r, h)
		return
	case trace.PodAdded:
		if r.T > 0 {
			p.Marks = append(p.Marks, Mark{r.T, "added", r})
		}
		p.Removed = Forever // a mirror pod comes again
	case trace.PodDeleteRequested:
		p.Marks = append(p.Marks, Mark{r.T, "deleted", r})
	case trace.PodRemoved:
		p.Removed = r.T
		p.Marks = append(p.Marks, Mark{r.T, "removed", r})
	case trace.Step:
		p.Marks = append(p.Marks, stepMark(r))
	case trace.HookStarted, trace.HookEnded:
		c := p.container(r.Container)
		c.Hooks = addAction(c.Hooks, r, r.Reason)
	case trace.ImagePullStarted, trace.ImagePullEnded:
		c := p.container(r.Container)
		c.Pulls = addAction(c.Pulls, r, "pull")
	case trace.VolumeWaitEnded:
		p.Waits = addAction(p.Waits, r, r.Reason)
	case trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited:
		p.container(r.Container).addLife(r)
	default:
		return
	}
	h.changed(r.T, "")
}

// stepMark returns a mark for a step with its action and container. The record at the end of a step
// has a message.
func stepMark(r *trace.Record) Mark {
	what := printable.Text(r.Reason)
	switch {
	case r.Container != "":
		what += " " + printable.Text(r.Container)
	case r.Message == trace.StepOver:
		what += " " + r.Message
	}
	return Mark{r.T, what, r}
}

// container returns a container. One that an earlier status of the pod does not have, such as an
// ephemeral container, came now.
func (p *Pod) container(name string) *Container {
	c := p.byName[name]
	if c == nil {
		var added virtual.Time
		if len(p.Ready) > 0 && p.Ready[0].Record != p.read {
			added = p.read.T
		}
		c = &Container{Name: name, Added: added, Probes: map[trace.Probe][]*trace.Record{}}
		p.byName[name] = c
		p.Containers = append(p.Containers, c)
	}
	return c
}

func (p *Pod) addStatus(r *trace.Record, h *History) {
	if r.Status == nil {
		return
	}
	p.Status = r.Status
	changed := appendFlip(&p.Ready, r, r.Status.Ready)
	for i := range r.Status.Containers {
		cs := &r.Status.Containers[i]
		c := p.container(cs.Name)
		changed = appendFlip(&c.Ready, r, cs.Ready) || changed
		changed = appendFlip(&c.Started, r, cs.Started) || changed
		if n := len(c.States); n == 0 || c.States[n-1].Name != cs.State || c.States[n-1].Reason != cs.Reason {
			c.States = append(c.States, State{r.T, cs.State, cs.Reason, r})
			changed = true
		}
	}
	if changed {
		h.changed(r.T, "")
	}
}

// appendFlip appends a value if it differs from the last one.
func appendFlip(flips *[]Flip, r *trace.Record, on bool) bool {
	if n := len(*flips); n > 0 && (*flips)[n-1].On == on {
		return false
	}
	*flips = append(*flips, Flip{r.T, on, r})
	return true
}

func (c *Container) addProbe(r *trace.Record, h *History) {
	runs := c.Probes[r.Probe]
	if n := len(runs); n == 0 || runs[n-1].Result != r.Result {
		h.changed(r.T, "")
	}
	c.Probes[r.Probe] = append(runs, r)
}

func (c *Container) addLife(r *trace.Record) {
	run := c.running(r.Instance)
	if run == nil || r.Kind == trace.ContainerStarted {
		c.Runs = append(c.Runs, Instance{Number: r.Instance, Started: r.T, Killing: Forever, Stopping: Forever,
			Exited: Forever})
		run = &c.Runs[len(c.Runs)-1]
	}
	run.Records = append(run.Records, r)
	switch r.Kind {
	case trace.ContainerStopping:
		run.Stopping = min(run.Stopping, r.T)
	case trace.ContainerExited:
		run.Exited, run.Code = r.T, r.ExitCode
	}
}

// running returns the oldest instance of a number that has not exited, or nil. There can be two:
// after a restart of the kubelet, a static pod can start while the one with the old manifest still
// runs.
func (c *Container) running(number int) *Instance {
	for i := range c.Runs {
		if run := &c.Runs[i]; run.Number == number && run.Exited == Forever {
			return run
		}
	}
	return nil
}

// WaitReason returns the last state other than running within [from, to). It prefers waiting to
// terminated.
func (c *Container) WaitReason(from, to virtual.Time) State {
	var found State
	for _, st := range c.States {
		if st.At < from || st.At >= to || st.Name == "running" {
			continue
		}
		if st.Name == "waiting" || found.Name != "waiting" {
			found = st
		}
	}
	return found
}
