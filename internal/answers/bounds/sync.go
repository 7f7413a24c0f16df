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

// shown returns the time from a start until a sync shows it to the probes. The sync waits for a
// relist that begins after the start. At the latest, the relist before has just begun: it inspects
// the pod because of the start, and the next one finds no change. Or it has just listed the
// containers, and both inspect the pod. A kubelet with PLEGOnDemandRelist relists the pod at once
// (workerLoopIteration and reconcilePodRecord in pkg/kubelet/pleg/generic.go at v1.37.0).
//
// On a first start, the event of the sandbox has led to the sync, which waits. Otherwise, the event
// of the start leads to it, and the sync loop takes the event later if it lists what runs for its
// housekeeping.
//
// The time counts from the end of the sync that starts the instance. If this sync ends with a hook,
// a relist can have inspected the pod during the hook. The next one finds no change and only lists.
func (c *Container) shown(first bool) Range {
	lists, inspects, rest := c.node.lists().Greatest, c.inspects(first), c.restWithoutSandbox()
	after := max(lists, inspects)
	switch {
	case !first || c.follows() || !c.alone() || c.hooked():
		after = inspects + lists
	case rest > 0:
		after = max(after, rest+lists)
	}
	greatest := lists + inspects + after + c.relistsLater()
	goesOn, looks := c.rest(first), c.node.looks().Least
	least := goesOn.Least + looks
	if c.endsWithHook(first) {
		least = max(looks, goesOn.Least+c.node.lists().Least)
	}
	return Range{least, goesOn.Greatest + greatest}
}

// relistsLater returns the time from the end of a relist to the begin of the next one that shows
// what a sync has done. With PLEGOnDemandRelist, the end of the sync itself begins one.
func (c *Container) relistsLater() time.Duration {
	if c.settings.Profile.PLEGOnDemandRelist {
		return 0
	}
	return relistPeriod
}

// shownLater returns the greatest time from the start of a later instance until a sync shows it, if
// the relist before can go on for some time after the start: it has just begun and inspects the
// start, or it has just listed the container as created and inspects it. Then the event of the exit
// has led to a sync, which waits for the next relist. The sync loop takes the event later if it
// lists what runs for its housekeeping.
func (c *Container) shownLater(goesOn time.Duration) time.Duration {
	lists := c.node.lists().Greatest
	return max(lists, goesOn) + c.look() + lists + c.relistsLater()
}

// shownAgain returns the time from the start of the next instance until a sync shows it. The sync
// waits for a relist after the start.
func (c *Container) shownAgain() Range {
	shown := Range{c.shown(false).Least, c.shownLater(c.inspects(false))}
	if !c.alwaysRestarts() { // it need not start again
		shown.Least = c.node.looks().Least
	}
	if c.hooked() { // the relist before can begin after the start
		shown.Greatest = c.rest(false).Greatest + c.shownLater(c.look())
	}
	return shown
}

// look returns the longest time of a relist that finds a change of the pod after the first start.
func (c *Container) look() time.Duration { return c.node.lists().Greatest + c.inspects(false) }

// inspects returns the longest time for which a relist inspects the pod after it has listed what
// runs. Once an instance has exited, it inspects the one that runs and a dead one.
func (c *Container) inspects(first bool) time.Duration {
	instances := time.Duration(len(c.pod.Containers) + len(c.pod.InitContainers))
	if !first {
		instances *= 2
	}
	inspects := c.node[podSandboxStatus].Greatest + instances*c.node[containerStatus].Greatest
	if !c.settings.Profile.InspectUsesListing { // an inspection lists the pod again
		inspects += c.node.lists().Greatest
	}
	return inspects
}

// restWithoutSandbox returns for how long a relist can inspect the pod after a first start, if it
// has listed the container, but not its sandbox, since this was not ready yet. The relist then has
// no event: a container that has been created leads to none. It is 0 if there is no such relist.
func (c *Container) restWithoutSandbox() time.Duration {
	n := &c.node
	created := n[podSandboxStatus].Least + 2*n[imageStatus].Least + n[createContainer].Least
	if created > n[listContainers].Greatest {
		return 0
	}
	rest := c.inspects(true) - max(0, created+n[startContainer].Least-n[listContainers].Greatest)
	if c.settings.Profile.InspectUsesListing {
		rest -= n[podSandboxStatus].Greatest
	}
	return max(0, rest)
}
