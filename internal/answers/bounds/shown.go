package bounds

import "time"

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
