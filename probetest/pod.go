package probetest

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/trace"
)

// Pod is a pod of a run, from its creation to its removal. Matchers look at its records.
type Pod struct {
	// Object is the pod as the API server was given it, with its defaults.
	Object *v1.Pod

	node *Node // nil for a run that is over
	log  *log
	key  string // namespace/name
	from int    // the records before that one are older than the pod
}

// Container is a container of a pod in all its instances.
type Container struct {
	Pod  *Pod
	Name string
}

// Container returns a container of the pod, an init container too. That there is one of that name is seen by the matchers,
// which fail if not.
func (p *Pod) Container(name string) *Container { return &Container{p, name} }

// String is the name of the pod, with its namespace if that is not default.
func (p *Pod) String() string { return trace.PodName(p.key) }

// String is the name of the pod and the container.
func (c *Container) String() string { return c.Pod.String() + "/" + c.Name }

// GomegaString is how messages of Gomega show the pod.
func (p *Pod) GomegaString() string { return p.String() }

// GomegaString is how messages of Gomega show the container.
func (c *Container) GomegaString() string { return c.String() }

// Records returns the records of the trace about the pod and its containers, in order, for whatever no matcher here is for.
func (p *Pod) Records() []trace.Record {
	var list []trace.Record
	for _, i := range p.indexes() {
		list = append(list, p.log.records[i])
	}
	return list
}

// containers returns the names of the containers of the pod, init containers first.
func (p *Pod) containers() []string {
	var names []string
	for _, list := range [][]v1.Container{p.Object.Spec.InitContainers, p.Object.Spec.Containers} {
		for i := range list {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// Delete deletes the pod through the API now: gracefully, in the pod's own time. A grace period in seconds may be given
// instead; 0 forces.
func (p *Pod) Delete(gracePeriodSeconds ...int64) {
	var grace *int64
	if len(gracePeriodSeconds) > 0 {
		grace = &gracePeriodSeconds[0]
	}
	p.do(func(n *node.Node) { n.DeletePod(p.Object.Namespace, p.Object.Name, grace) })
}

// Kill ends the container with SIGKILL now, as the kernel does when memory is short: with exit code 137 and the reason
// OOMKilled.
func (c *Container) Kill() {
	c.Pod.do(func(n *node.Node) {
		if !n.KillContainer(fakeruntime.Kill{PodUID: string(c.Pod.Object.UID), Container: c.Name, Reason: "OOMKilled"}) {
			fail(0, "no container %s runs that could be killed at %s", c, trace.FormatTime(n.Now()))
		}
	})
}

func (p *Pod) do(f func(*node.Node)) {
	if p.node == nil {
		fail(2, "the run of %s is over", p)
		return
	}
	p.node.Do(f)
}
