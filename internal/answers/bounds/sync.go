package bounds

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
)

// One sync starts the containers of a pod one after the other, in the order of the spec, and runs
// the postStart hook of each. A later sync shows what has started to the probes (SyncPod in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).

// begins returns the time from a tick of a probe until the first start. The ticks begin with the
// sync that starts the container, so the delays of this sync decide between which of them the start
// can be. After an init container, it can be at any time.
func (c *Container) begins(p *probe) Range {
	d := c.node.sum(runPodSandbox, podSandboxStatus).plus(c.starts(), c.startsOf(c.startsBefore()))
	if c.follows() {
		d.Greatest = d.Least + p.period
	}
	return d
}

// rest returns how long the sync that starts an instance goes on: for the hook of the container,
// and on a first start for the containers that follow.
func (c *Container) rest(first bool) Range {
	d := c.postStart(c.spec, first)
	if first {
		d = d.plus(c.startsOf(c.startsAfter()))
	}
	return d
}

// endsWithHook reports whether the sync that starts an instance ends with a postStart hook.
func (c *Container) endsWithHook(first bool) bool {
	last := c.spec
	if after := c.startsAfter(); first && len(after) > 0 {
		last = &after[len(after)-1]
	}
	return last.Lifecycle != nil && last.Lifecycle.PostStart != nil
}

// startsOf returns how long the kubelet takes to start some containers and to run their hooks.
func (c *Container) startsOf(list []v1.Container) (d Range) {
	for i := range list {
		d = d.plus(c.node.startsOf(&list[i]), c.postStart(&list[i], true))
	}
	return d
}

// starts returns how long the kubelet takes to start the container.
func (c *Container) starts() Range { return c.node.startsOf(c.spec) }

// startsOf returns how long the kubelet takes to start a container, without its hook: it looks
// twice for the image, pulls it if it has to, and creates and starts the container (startContainer
// in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (n *node) startsOf(c *v1.Container) Range {
	d := n.sum(imageStatus, imageStatus, createContainer, startContainer)
	if c.ImagePullPolicy == v1.PullAlways {
		d = d.plus(n[imagePull])
	}
	return d
}

// postStart returns how long the postStart hook of a container takes, or 0 if it has none.
func (c *Container) postStart(of *v1.Container, first bool) Range {
	if of.Lifecycle == nil {
		return Range{}
	}
	return c.takes(of.Lifecycle.PostStart, c.settings.Programs.Containers[of.Name].Program.PostStartSleep,
		c.known(of, first))
}

// preStop returns how long the preStop hook of a container takes, or 0 if it has none. The grace
// period includes the hook.
func (c *Container) preStop(of *v1.Container) Range {
	if of.Lifecycle == nil {
		return Range{}
	}
	return c.takes(of.Lifecycle.PreStop, c.settings.Programs.Containers[of.Name].Program.PreStopSleep,
		c.known(of, false)).most(c.grace())
}

// takes returns how long a hook takes whose command sleeps for some time, while the runtime knows a
// number of instances. Before an HTTP request without a host, the kubelet asks the runtime for the
// address of the pod (runHTTPHandler in pkg/kubelet/lifecycle/handlers.go at v1.37.0).
func (c *Container) takes(hook *v1.LifecycleHandler, sleep time.Duration, known int) (d Range) {
	switch {
	case hook == nil:
		return d
	case hook.Sleep != nil:
		return exactly(time.Duration(hook.Sleep.Seconds) * time.Second)
	case hook.HTTPGet != nil && hook.HTTPGet.Host == "":
		d = c.node.looks()
		d.Greatest += time.Duration(known-1) * c.node[containerStatus].Greatest
	}
	if asks := podutil.RequestOf(hook); asks != nil {
		d = d.plus(c.node.answers(asks))
	}
	return d.plus(exactly(sleep))
}

// known returns the greatest number of instances that the runtime has of the containers of the pod
// when a container has started. Beside the instances that run, it keeps one dead instance of each
// container (MaxPerPodContainerCount in cmd/kubelet/app/options/options.go at v1.37.0).
func (c *Container) known(of *v1.Container, first bool) int {
	all := len(c.pod.InitContainers) + len(c.pod.Containers)
	if !first {
		return 2 * all
	}
	if i := slices.IndexFunc(c.pod.Containers, func(one v1.Container) bool { return one.Name == of.Name }); i >= 0 {
		return len(c.pod.InitContainers) + i + 1
	}
	return all
}

// startsBefore and startsAfter return the containers that the sync of the first start starts before
// and after the container. An init container starts alone.
func (c *Container) startsBefore() []v1.Container { return c.pod.Containers[:max(c.place(), 0)] }
func (c *Container) startsAfter() []v1.Container {
	if c.place() < 0 {
		return nil
	}
	return c.pod.Containers[c.place()+1:]
}

// place returns the index of the container among those that are no init containers, or -1.
func (c *Container) place() int {
	return slices.IndexFunc(c.pod.Containers, func(one v1.Container) bool { return one.Name == c.spec.Name })
}

// follows reports whether init containers start in syncs before the one that starts the container.
func (c *Container) follows() bool {
	return len(c.pod.InitContainers) > 0 && c.pod.InitContainers[0].Name != c.spec.Name
}

// stops returns how long the kubelet takes to stop a container, with its preStop hook, until the
// program has exited.
func (c *Container) stops(of *v1.Container) Range {
	return c.preStop(of).plus(c.node[stopContainer], exactly(fakeruntime.SigtermExit))
}

// startsAgain returns the time from the exit of a container that a probe has stopped until its next
// instance starts, in the same sync. If the container does not start again, the sync can stop the
// pod: its sidecars, one after the other, and its sandbox.
func (c *Container) startsAgain() Range {
	starts := c.node[stopReturn].plus(c.starts())
	if c.alwaysRestarts() {
		return starts
	}
	ends := c.node.sum(stopReturn, stopPodSandbox).Greatest
	for i := range c.pod.InitContainers {
		if sidecar := &c.pod.InitContainers[i]; podutil.IsRestartableInitContainer(sidecar) {
			ends += c.stops(sidecar).plus(c.node[stopReturn]).Greatest
		}
	}
	return Range{c.node[stopReturn].Least, max(starts.Greatest, ends)}
}
