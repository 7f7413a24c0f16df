package fakeruntime

import (
	"fmt"
	"strconv"
)

// pod is a pod in the runtime.
type pod struct {
	Pod
	scope      scope
	root       key // of the run
	ip         string
	containers map[string]*podContainer
	ids        map[string]int    // number of uses of each ID
	names      map[string]string // IDs by the names that are in use in the runtime
	views      views
}

// podContainer is a container of a pod, with the state that all its instances share.
type podContainer struct {
	scope   scope
	program Program
	own     key // of random values of one instance
	run     key // of random values that all instances and replicas share
	created bool
	latest  int        // instance of the newest container
	running *container // the running container; nil: none
	logs    []int      // attempts whose logs exist
	step    int64      // of the latest record about a container of this name
}

func newPod(p Pod, run *scope, number int) *pod {
	if p.Workload == "" {
		p.Workload = p.Name
	}
	ip := fmt.Sprintf("10.%d.%d.%d", 64+number>>16&63, number>>8&255, number&255)
	if p.HostNetwork {
		ip = ""
	}
	return &pod{
		Pod:        p,
		scope:      run.narrower(run.key.named(p.Namespace).named(p.Name), p.Delays),
		root:       run.key,
		ip:         ip,
		containers: map[string]*podContainer{},
		ids:        map[string]int{},
		names:      map[string]string{},
	}
}

// container returns the container with a name. A name without a configuration has the zero program.
func (p *pod) container(name string) *podContainer {
	c := p.containers[name]
	if c == nil {
		config := p.Containers[name]
		k := p.scope.key.named(name)
		c = &podContainer{
			program: config.Program,
			scope:   p.scope.narrower(k, config.Delays),
			own:     k.named("instance"),
			run:     p.root.named("run").named(p.Namespace).named(p.Workload).named(name),
		}
		p.containers[name] = c
	}
	return c
}

// id returns a unique ID. It depends on the object and not on the order of calls: the simulator and
// the real kubelet get the same IDs and the same order of lists.
func (p *pod) id(of string, attempt int) string {
	id := p.UID + of + "_" + strconv.Itoa(attempt)
	p.ids[id]++
	if n := p.ids[id]; n > 1 {
		id += "_" + strconv.Itoa(n)
	}
	return id
}
