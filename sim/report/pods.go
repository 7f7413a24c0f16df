package report

import (
	"slices"
	"time"

	"probesim.dev/sim/trace"
)

// history is what a trace says, sorted by whom it is about, for the lanes of a timeline.
type history struct {
	pods    []*podHistory
	kubelet []flip // up and down; empty if the kubelet was never stopped
	marks   []mark // what was done to the node
	// changes are the times at which something new happened: not one more probe with the same result, nor
	// an event that is counted up.
	changes []time.Duration
	end     time.Duration

	byName map[string]*podHistory
	seen   map[string]bool
}

type podHistory struct {
	name    string
	added   time.Duration
	removed time.Duration // never: forever
	marks   []mark        // what was done to it
	ready   []flip

	containers []*containerHistory
	byName     map[string]*containerHistory
}

type containerHistory struct {
	name    string
	runs    []instance
	states  []state
	started []flip
	ready   []flip
	probes  map[trace.Probe][]shot
}

// mark points out that something was done from outside.
type mark struct {
	at   time.Duration
	what string
}

// flip is a value that a condition takes at a time and keeps.
type flip struct {
	at time.Duration
	on bool
}

// instance is one run of a container.
type instance struct {
	number                    int
	started, stopping, exited time.Duration // forever if it did not happen
	killing                   time.Duration // the kubelet says that it will stop it
	code                      int32
}

type state struct {
	at           time.Duration
	name, reason string
}

// shot is a probe run.
type shot struct {
	at     time.Duration
	result trace.Result
}

const forever = time.Duration(1<<63 - 1)

// read sorts the records of a run that ends at end, or with the last record if end is 0.
func read(records []trace.Record, end time.Duration) *history {
	h := &history{end: end, byName: map[string]*podHistory{}, seen: map[string]bool{}}
	if end == 0 && len(records) > 0 {
		h.end = records[len(records)-1].T
	}
	for i := range records {
		r := &records[i]
		switch {
		case r.Kind == trace.KubeletStopped || r.Kind == trace.KubeletStarted:
			h.addKubelet(r)
		case r.Kind == trace.Step && r.Pod == "":
			h.marks = append(h.marks, stepMark(r))
			h.news(r.T, "")
		case r.Kind.Observable() && r.Pod != "":
			h.pod(r).add(r, h)
		}
	}
	slices.Sort(h.changes)
	return h
}

func (h *history) addKubelet(r *trace.Record) {
	if len(h.kubelet) == 0 && r.Kind == trace.KubeletStarted {
		return // it has run from the beginning
	}
	if len(h.kubelet) == 0 {
		h.kubelet = []flip{{0, true}}
	}
	h.kubelet = append(h.kubelet, flip{r.T, r.Kind == trace.KubeletStarted})
	h.changes = append(h.changes, r.T)
}

func (h *history) pod(r *trace.Record) *podHistory {
	p := h.byName[r.Pod]
	if p == nil {
		p = &podHistory{name: trace.Clean(trace.PodName(r.Pod)), added: r.T, removed: forever, byName: map[string]*containerHistory{}}
		h.byName[r.Pod] = p
		h.pods = append(h.pods, p)
	}
	return p
}

// news notes a change at t, but for what was seen before.
func (h *history) news(t time.Duration, key string) {
	if key != "" {
		if h.seen[key] {
			return
		}
		h.seen[key] = true
	}
	h.changes = append(h.changes, t)
}

func (p *podHistory) add(r *trace.Record, h *history) {
	switch r.Kind {
	case trace.PodAdded:
		if r.T > 0 {
			p.marks = append(p.marks, mark{r.T, "added"})
		}
		h.news(r.T, "")
	case trace.PodDeleteRequested:
		p.marks = append(p.marks, mark{r.T, "deleted"})
		h.news(r.T, "")
	case trace.PodRemoved:
		p.removed = r.T
		p.marks = append(p.marks, mark{r.T, "removed"})
		h.news(r.T, "")
	case trace.Step:
		p.marks = append(p.marks, stepMark(r))
		h.news(r.T, "")
	case trace.StatusPatched:
		p.addStatus(r.T, r.Status, h)
	case trace.Event:
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
func stepMark(r *trace.Record) mark {
	what := trace.Clean(r.Reason)
	switch {
	case r.Container != "":
		what += " " + trace.Clean(r.Container)
	case r.Message == trace.StepOver:
		what += " " + r.Message
	}
	return mark{r.T, what}
}

func (p *podHistory) container(name string) *containerHistory {
	c := p.byName[name]
	if c == nil {
		c = &containerHistory{name: name, probes: map[trace.Probe][]shot{}}
		p.byName[name] = c
		p.containers = append(p.containers, c)
	}
	return c
}

func (p *podHistory) addStatus(t time.Duration, s *trace.PodStatus, h *history) {
	if s == nil {
		return
	}
	changed := turn(&p.ready, t, s.Ready)
	for i := range s.Containers {
		cs := &s.Containers[i]
		c := p.container(cs.Name)
		changed = turn(&c.ready, t, cs.Ready) || changed
		changed = turn(&c.started, t, cs.Started) || changed
		if n := len(c.states); n == 0 || c.states[n-1].name != cs.State || c.states[n-1].reason != cs.Reason {
			c.states = append(c.states, state{t, cs.State, cs.Reason})
			changed = true
		}
	}
	if changed {
		h.news(t, "")
	}
}

// turn appends a value if it is a new one.
func turn(flips *[]flip, t time.Duration, on bool) bool {
	if n := len(*flips); n > 0 && (*flips)[n-1].on == on {
		return false
	}
	*flips = append(*flips, flip{t, on})
	return true
}

func (c *containerHistory) addProbe(r *trace.Record, h *history) {
	shots := c.probes[r.Probe]
	if n := len(shots); n == 0 || shots[n-1].result != r.Result {
		h.news(r.T, "")
	}
	c.probes[r.Probe] = append(shots, shot{r.T, r.Result})
}

func (c *containerHistory) addLife(r *trace.Record) {
	if n := len(c.runs); r.Kind == trace.ContainerStarted || n == 0 || c.runs[n-1].number != r.Instance {
		c.runs = append(c.runs, instance{number: r.Instance, started: r.T, killing: forever, stopping: forever, exited: forever})
	}
	last := &c.runs[len(c.runs)-1]
	switch r.Kind {
	case trace.ContainerStopping:
		last.stopping = min(last.stopping, r.T)
	case trace.ContainerExited:
		last.exited, last.code = r.T, r.ExitCode
	}
}

// addKill notes the kubelet's word that it stops the container.
func (c *containerHistory) addKill(r *trace.Record) {
	if n := len(c.runs); n > 0 && c.runs[n-1].number == r.Instance && c.runs[n-1].killing == forever {
		c.runs[n-1].killing = r.T
	}
}
