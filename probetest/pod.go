package probetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/strict"
	"probesim.dev/node"
	"probesim.dev/trace"
)

// Pod is a pod of a run, from its addition to its removal. AddPod, AddWorkload and RunScenario
// return pods; the zero value belongs to no run, and every matcher returns an error for it.
type Pod struct {
	// Object is the pod that the API server stored when the pod was added, with API defaults.
	Object *v1.Pod

	node *Node      // nil for a pod of RunScenario, whose run is complete
	t    testing.TB // of a pod of RunScenario
	log  *log
	key  string // namespace/name
	from int    // index of the first record that can be about the pod
}

// Container is a container of a pod, with all its restarts. Get one from Pod.Container.
type Container struct {
	pod  *Pod
	name string
}

// Container returns the container or init container with a name. If the pod does not have one,
// every matcher returns an error that lists the names of the containers.
func (p *Pod) Container(name string) *Container { return &Container{p, name} }

// String returns the name of the pod, as namespace/name unless the namespace is default.
func (p *Pod) String() string {
	if p == nil || p.key == "" {
		return "<no pod>"
	}
	return trace.PodName(p.key)
}

// String returns the name of the pod and the container, such as web/app.
func (c *Container) String() string {
	if c == nil {
		return "<no container>"
	}
	return c.pod.String() + "/" + c.name
}

// GomegaString returns the name of the pod. Gomega prints it in messages in place of the fields.
func (p Pod) GomegaString() string { return p.String() }

// GomegaString returns the name of the container. Gomega prints it in messages in place of the
// fields.
func (c Container) GomegaString() string { return c.String() }

// Records returns the trace records about the pod and its containers, in order, for assertions that
// no matcher of this package covers. Their times are virtual times of the node: they count from
// t=0, not from the addition of the pod.
func (p *Pod) Records() []trace.Record {
	var list []trace.Record
	for _, i := range p.indexes() {
		list = append(list, p.log.records[i])
	}
	return list
}

// containers returns the names of the pod's containers, init containers first.
func (p *Pod) containers() []string { return containerNames(&p.Object.Spec) }

func containerNames(spec *v1.PodSpec) []string {
	var names []string
	for c := range podutil.Containers(spec) {
		names = append(names, c.Name)
	}
	return names
}

// Delete deletes the pod through the API at the current virtual time. The optional argument is the
// grace period in seconds, 0 or more; 0 forces the deletion. Without it, the pod's
// terminationGracePeriodSeconds applies. If the API server does not have the pod, the next call of
// Advance fails the test.
func (p *Pod) Delete(gracePeriodSeconds ...int64) {
	p.tb("Delete").Helper()
	var grace *int64
	switch {
	case len(gracePeriodSeconds) > 1:
		p.tb("Delete").Fatalf("Delete: give one grace period, not %d", len(gracePeriodSeconds))
		return
	case len(gracePeriodSeconds) == 1 && gracePeriodSeconds[0] < 0:
		p.tb("Delete").Fatalf("Delete: the grace period must not be negative, and it is %d s", gracePeriodSeconds[0])
		return
	case len(gracePeriodSeconds) == 1:
		grace = &gracePeriodSeconds[0]
	}
	p.do("Delete", func(n *node.Node) {
		if err := n.DeletePod(p.Object.Namespace, p.Object.Name, grace); err != nil {
			p.node.fail("Delete: the pod %s cannot be deleted at %s: %s", p, trace.FormatTime(n.Now()), err)
		}
	})
}

// Kill ends the container with SIGKILL at the current virtual time, as the OOM killer does: with
// exit code 137 and the reason OOMKilled. If the container is not running, the next call of Advance
// fails the test.
func (c *Container) Kill() {
	if c == nil {
		panic("probetest: Kill: the container is nil: use Pod.Container")
	}
	p := c.pod
	p.tb("Kill").Helper()
	if err := p.requireContainer(c.name); err != nil {
		p.tb("Kill").Fatalf("Kill: %s", err)
		return
	}
	p.do("Kill", func(n *node.Node) {
		if !n.KillContainer(fakeruntime.Kill{PodUID: string(p.Object.UID), Container: c.name, Reason: "OOMKilled"}) {
			p.node.fail("Kill: the container %s is not running at %s", c, trace.FormatTime(n.Now()))
		}
	})
}

// requireContainer returns an error if the pod does not have a container.
func (p *Pod) requireContainer(name string) error {
	if names := p.containers(); !slices.Contains(names, name) {
		return fmt.Errorf("the pod %s has no container %q%s; its containers are: %s", p, name,
			strict.DidYouMean(name, names), strings.Join(names, ", "))
	}
	return nil
}

func (p *Pod) tb(method string) testing.TB {
	switch {
	case p == nil || p.log == nil:
		panic("probetest: " + method + ": the pod belongs to no node: use a pod that AddPod or AddWorkload returned")
	case p.node != nil:
		return p.node.t
	}
	return p.t
}

func (p *Pod) do(method string, f func(*node.Node)) {
	p.tb(method).Helper()
	if p.node == nil {
		p.t.Fatalf("%s: the run of the pod %s is complete: RunScenario runs a scenario to its end. Add a step to the "+
			"scenario, or use NewNode and AddPod.", method, p)
		return
	}
	p.node.at(p.node.now(), method+" of "+p.String(), f)
}
