package soak

import (
	"slices"

	"probesim.dev/trace"
)

// pod is what the records so far say of a pod.
type pod struct {
	stored     bool // the API server has the pod
	added      int  // how often the pod was added
	containers map[string]*container
}

func (p *pod) container(name string) *container {
	c := p.containers[name]
	if c == nil {
		c = &container{last: -1}
		p.containers[name] = c
	}
	return c
}

func (p *pod) check(r *trace.Record, broken func(string)) {
	switch r.Kind {
	case trace.PodAdded:
		if p.stored {
			broken("a pod is added once")
		}
		p.stored = true
		p.added++
	case trace.PodDeleteRequested:
		if !p.stored {
			broken("only a pod that the API server has can be deleted")
		}
	case trace.PodRemoved:
		if !p.stored {
			broken("only a pod that the API server has can be removed")
		}
		p.stored = false
	case trace.StatusPatched:
		if !p.stored {
			broken("only a pod that the API server has gets a status")
		}
		if r.Status != nil {
			checkStatus(r.Status, broken)
		}
	}
}

var (
	phases = []string{"Pending", "Running", "Succeeded", "Failed"}
	states = []string{"waiting", "running", "terminated"}
)

func checkStatus(status *trace.PodStatus, broken func(string)) {
	if !slices.Contains(phases, status.Phase) {
		broken("a pod has a phase")
	}
	if status.Ready && !status.ContainersReady {
		broken("a pod is Ready only if its containers are")
	}
	for i := range status.Containers {
		c := &status.Containers[i]
		if !slices.Contains(states, c.State) {
			broken("a container has a state")
		}
	}
}

// container is what the records so far say of a container.
type container struct {
	last    int  // the instance that started last; -1 for none
	running bool // it has not exited
	added   int  // how often its pod was added before it started
}

// check checks a record of the container. A pod that was added again can have the container of its
// predecessor beside its own; the rules hold again from the next start on.
func (c *container) check(r *trace.Record, added int, broken func(string)) {
	another := c.added != added
	switch r.Kind {
	case trace.ContainerStarted:
		if c.running && !another {
			broken("a container runs once at a time")
		}
		if !another && r.Instance <= c.last {
			broken("each start of a container has a new instance")
		}
		c.last, c.running, c.added = r.Instance, true, added
	case trace.ContainerStopping:
		if !another && (!c.running || r.Instance != c.last) {
			broken("only a running container is stopped")
		}
	case trace.ContainerExited:
		if !another && (!c.running || r.Instance != c.last) {
			broken("only a running container exits")
		}
		c.running = false
	case trace.ProbeExecuted:
		if !another && r.Instance > c.last {
			broken("only a container that has started is probed")
		}
	}
}
