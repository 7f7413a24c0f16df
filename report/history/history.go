// Package history sorts the records of a run by whom they are about: each pod with its containers, when each
// condition held, when each instance ran and what each probe found. It is what every picture of a run is drawn from.
package history

import (
	"slices"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// History is what a trace says. It holds on to the records that it was read from.
type History struct {
	Pods    []*Pod // in the order in which they came
	Kubelet []Flip // up and down; empty if the kubelet was never stopped
	Marks   []Mark // what was done to the node
	// Changes are the times at which something new happened: not one more probe with the same result, nor
	// an event that is counted up. They are sorted.
	Changes []virtual.Time
	End     virtual.Time

	byName map[string]*Pod
	seen   map[string]bool
}

// Pod is what a trace says about one pod.
type Pod struct {
	Name       string // namespace/name, as the records have it
	Added      virtual.Time
	Removed    virtual.Time // Forever if it never was
	Marks      []Mark       // what was done to it
	Ready      []Flip
	Containers []*Container    // in the order in which the status has them
	Events     []*trace.Record // about the pod and its containers

	byName map[string]*Container
}

// Container is what a trace says about one container of a pod, in all its instances.
type Container struct {
	Name    string
	Runs    []Instance
	States  []State
	Started []Flip
	Ready   []Flip
	Probes  map[trace.Probe][]*trace.Record // probe runs
}

// Mark points out that something was done from outside.
type Mark struct {
	At     virtual.Time
	What   string
	Record *trace.Record
}

// Flip is a value that a condition takes at a time and keeps. Record is what says so; nil for what was so from
// the beginning.
type Flip struct {
	At     virtual.Time
	On     bool
	Record *trace.Record
}

// Instance is one run of a container. The times are Forever if it did not happen.
type Instance struct {
	Number                    int
	Started, Stopping, Exited virtual.Time
	Killing                   virtual.Time // the kubelet says that it will stop it
	Code                      int32        // of the exit
	Records                   []*trace.Record
}

// State is the state that the status gives a container from a time on: waiting, running or terminated.
type State struct {
	At           virtual.Time
	Name, Reason string
	Record       *trace.Record
}

// Forever is the time of what never comes.
const Forever = virtual.Max

// Read sorts the records of a run that ends at end, or with the last record if end is 0.
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
			h.news(r.T, "")
		case r.Kind.Observable() && r.Pod != "":
			h.pod(r).add(r, h)
		}
	}
	slices.Sort(h.Changes)
	return h
}

func (h *History) addKubelet(r *trace.Record) {
	if len(h.Kubelet) == 0 && r.Kind == trace.KubeletStarted {
		return // it has run from the beginning
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

// news notes a change at t, but for what was seen before.
func (h *History) news(t virtual.Time, key string) {
	if key != "" {
		if h.seen[key] {
			return
		}
		h.seen[key] = true
	}
	h.Changes = append(h.Changes, t)
}

func (p *Pod) add(r *trace.Record, h *History) {
	switch r.Kind {
	case trace.PodAdded:
		if r.T > 0 {
			p.Marks = append(p.Marks, Mark{r.T, "added", r})
		}
		h.news(r.T, "")
	case trace.PodDeleteRequested:
		p.Marks = append(p.Marks, Mark{r.T, "deleted", r})
		h.news(r.T, "")
	case trace.PodRemoved:
		p.Removed = r.T
		p.Marks = append(p.Marks, Mark{r.T, "removed", r})
		h.news(r.T, "")
	case trace.Step:
		p.Marks = append(p.Marks, stepMark(r))
		h.news(r.T, "")
	case trace.StatusPatched:
		p.addStatus(r, h)
	case trace.Event:
		p.Events = append(p.Events, r)
		h.news(r.T, r.Pod+"\x00"+r.Container+"\x00"+r.Reason+"\x00"+r.Message)
		if r.Reason == "Killing" && r.Container != "" {
			p.container(r.Container).addKill(r)
		}
	case trace.ProbeExecuted:
		p.container(r.Container).addProbe(r, h)
	case trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited:
		p.container(r.Container).addLife(r)
		h.news(r.T, "")
	}
}

// stepMark names a step, and the container that it is about. The end of a step says so in its message.
func stepMark(r *trace.Record) Mark {
	what := trace.Clean(r.Reason)
	switch {
	case r.Container != "":
		what += " " + trace.Clean(r.Container)
	case r.Message == trace.StepOver:
		what += " " + r.Message
	}
	return Mark{r.T, what, r}
}

func (p *Pod) container(name string) *Container {
	c := p.byName[name]
	if c == nil {
		c = &Container{Name: name, Probes: map[trace.Probe][]*trace.Record{}}
		p.byName[name] = c
		p.Containers = append(p.Containers, c)
	}
	return c
}

func (p *Pod) addStatus(r *trace.Record, h *History) {
	if r.Status == nil {
		return
	}
	changed := turn(&p.Ready, r, r.Status.Ready)
	for i := range r.Status.Containers {
		cs := &r.Status.Containers[i]
		c := p.container(cs.Name)
		changed = turn(&c.Ready, r, cs.Ready) || changed
		changed = turn(&c.Started, r, cs.Started) || changed
		if n := len(c.States); n == 0 || c.States[n-1].Name != cs.State || c.States[n-1].Reason != cs.Reason {
			c.States = append(c.States, State{r.T, cs.State, cs.Reason, r})
			changed = true
		}
	}
	if changed {
		h.news(r.T, "")
	}
}

// turn appends a value if it is a new one.
func turn(flips *[]Flip, r *trace.Record, on bool) bool {
	if n := len(*flips); n > 0 && (*flips)[n-1].On == on {
		return false
	}
	*flips = append(*flips, Flip{r.T, on, r})
	return true
}

func (c *Container) addProbe(r *trace.Record, h *History) {
	shots := c.Probes[r.Probe]
	if n := len(shots); n == 0 || shots[n-1].Result != r.Result {
		h.news(r.T, "")
	}
	c.Probes[r.Probe] = append(shots, r)
}

func (c *Container) addLife(r *trace.Record) {
	if n := len(c.Runs); r.Kind == trace.ContainerStarted || n == 0 || c.Runs[n-1].Number != r.Instance {
		c.Runs = append(c.Runs, Instance{Number: r.Instance, Started: r.T, Killing: Forever, Stopping: Forever, Exited: Forever})
	}
	last := &c.Runs[len(c.Runs)-1]
	last.Records = append(last.Records, r)
	switch r.Kind {
	case trace.ContainerStopping:
		last.Stopping = min(last.Stopping, r.T)
	case trace.ContainerExited:
		last.Exited, last.Code = r.T, r.ExitCode
	}
}

// addKill notes the kubelet's word that it stops the container.
func (c *Container) addKill(r *trace.Record) {
	if n := len(c.Runs); n > 0 && c.Runs[n-1].Number == r.Instance && c.Runs[n-1].Killing == Forever {
		c.Runs[n-1].Killing = r.T
	}
}

// WaitReason returns the last state within [from, to) other than running; waiting goes before the rest.
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
