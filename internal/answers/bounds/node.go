package bounds

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
)

// The latencies that can change a bound.
const (
	runPodSandbox    = fakeruntime.DelayRunPodSandbox
	imageStatus      = fakeruntime.DelayImageStatus
	imagePull        = fakeruntime.DelayImagePull
	createContainer  = fakeruntime.DelayCreateContainer
	startContainer   = fakeruntime.DelayStartContainer
	stopContainer    = fakeruntime.DelayStopContainer
	stopPodSandbox   = fakeruntime.DelayStopPodSandbox
	stopReturn       = fakeruntime.DelayStopReturn
	apiGet           = fakeruntime.DelayAPIGet
	apiPatch         = fakeruntime.DelayAPIPatch
	listPodSandbox   = fakeruntime.DelayListPodSandbox
	listContainers   = fakeruntime.DelayListContainers
	podSandboxStatus = fakeruntime.DelayPodSandboxStatus
	containerStatus  = fakeruntime.DelayContainerStatus
	execAnswer       = fakeruntime.DelayExec
	httpAnswer       = fakeruntime.DelayHTTPGet
	tcpAnswer        = fakeruntime.DelayTCPSocket
	grpcAnswer       = fakeruntime.DelayGRPC
)

// node has the range of each latency of the nodes.
type node [fakeruntime.DelayKinds]Range

func newNode(d fakeruntime.Delays) (n node) {
	for kind, draw := range d.Ranges() {
		n[kind] = Range{draw.Min, draw.Max}
	}
	return n
}

// atMiddle returns the one node in the middle of the latencies.
func (n node) atMiddle() node {
	for i, d := range n {
		n[i] = exactly(d.middle())
	}
	return n
}

// sum returns the range of the sum of some latencies.
func (n *node) sum(list ...fakeruntime.DelayKind) (sum Range) {
	for _, of := range list {
		sum = sum.plus(n[of])
	}
	return sum
}

// answers returns the latency of the answers to a probe or a hook.
func (n *node) answers(h *v1.ProbeHandler) Range {
	switch {
	case h.Exec != nil:
		return n[execAnswer]
	case h.TCPSocket != nil:
		return n[tcpAnswer]
	case h.GRPC != nil:
		return n[grpcAnswer]
	}
	return n[httpAnswer]
}

// lists returns the time of a list of all that runs. A relist begins with it (Relist in
// pkg/kubelet/pleg/generic.go at v1.37.0).
func (n *node) lists() Range { return n.sum(listPodSandbox, listContainers) }

// looks returns the least and the greatest time of a relist that inspects one instance of one
// container.
func (n *node) looks() Range {
	return n.sum(listPodSandbox, listContainers, podSandboxStatus, containerStatus)
}

// write returns the time of a status update: the status manager reads the pod and patches its
// status (syncPod in pkg/kubelet/status/status_manager.go at v1.37.0).
func (n *node) write() Range { return n.sum(apiGet, apiPatch) }

// relistPeriod is the time from the end of a relist to the begin of the next one
// (genericPlegRelistPeriod in pkg/kubelet/kubelet.go at v1.37.0).
const relistPeriod = time.Second

// relistsApart is the longest time from the end of a relist that finds no change to that of the
// next one.
func (n *node) relistsApart() time.Duration { return relistPeriod + n.lists().Greatest }

// longestWait is the longest time from an event to its sync. The sync waits for a relist that has
// begun after the sync before it. So the longest wait is that after a sync which ends just after a
// relist begins: until the end of the next relist, which begins a second after the end of that one.
// If the sync loop takes the results of two probes later, since it lists what runs for its
// housekeeping, the result of the other probe can lead to the sync before (podWorkerLoop in
// pkg/kubelet/pod_workers.go and syncLoopIteration in pkg/kubelet/kubelet.go at v1.37.0).
func (n *node) longestWait() time.Duration { return relistPeriod + 3*n.lists().Greatest }

// lateBy returns the greatest time from a sync without an event until the sync loop takes something
// that comes after some time. Such syncs and the housekeeping begin at whole seconds of the
// kubelet's age, or when the other one ends (syncLoopIteration in pkg/kubelet/kubelet.go at
// v1.37.0).
func (n *node) lateBy(after time.Duration) time.Duration {
	lists := n.lists().Greatest
	return max(after, (after+lists).Truncate(time.Second)+lists)
}

// Never is the value of an end that nothing reaches: nothing happens, however long the misfortune
// lasts.
const Never = value.Never

// LongestLimit is the greatest limit or time that bounds determine. A probe that needs longer to
// stop a container counts as none.
const LongestLimit = value.LongestLimit

// Range is the range of a time over everything that varies.
//
// A limit is a Range too: what stays below Least always goes well, and what exceeds Greatest never
// does.
type Range struct {
	Least, Greatest time.Duration // or Never
}

// Time is the range of a time, with its mean over the phases of the event on a node in the middle
// of the delays. The mean is 0 if more decides, so there is none.
type Time struct {
	Range
	Mean time.Duration
}

// Or returns the range over the cases of both.
func (a Range) Or(b Range) Range {
	return Range{min(a.Least, b.Least), max(a.Greatest, b.Greatest)}
}

// never is the range of what does not happen.
var never = Range{Never, Never}

func exactly(d time.Duration) Range { return Range{d, d} }

// plus returns the range of the sum of times. Nothing comes after what never happens.
func (a Range) plus(list ...Range) Range {
	for _, b := range list {
		a.Least, a.Greatest = later(a.Least, b.Least), later(a.Greatest, b.Greatest)
	}
	return a
}

// later returns the sum of two times, or Never.
func later(a, b time.Duration) time.Duration {
	if a == Never || b == Never {
		return Never
	}
	return a + b
}

// most returns the range of a time that something limits.
func (a Range) most(d time.Duration) Range { return Range{min(a.Least, d), min(a.Greatest, d)} }

// middle returns the middle of the range.
func (a Range) middle() time.Duration { return a.Least + (a.Greatest-a.Least)/2 }

// modulo returns the remainder of a division, which is at least 0.
func modulo(a, b time.Duration) time.Duration { return (a%b + b) % b }

// ceil returns the least multiple of a period that is at least a time.
func ceil(d, period time.Duration) time.Duration { return d + modulo(-d, period) }

// nextTick returns the range of the time from a start to the first tick that is at least some time
// after it. The start comes some time after a tick.
func nextTick(after Range, period time.Duration, start Range) Range {
	return Range{leastTick(after.Least, period, start), greatestTick(after.Greatest, period, start)}
}

func leastTick(after, period time.Duration, start Range) time.Duration {
	if ceil(start.Least+after, period) <= start.Greatest+after { // some start meets a tick
		return after
	}
	return ceil(start.Greatest+after, period) - start.Greatest
}

func greatestTick(after, period time.Duration, start Range) time.Duration {
	if ceil(start.Least+after, period) <= start.Greatest+after { // some start just misses a tick
		return after + period
	}
	return ceil(start.Least+after, period) - start.Least
}

// firstFrom returns the least time, from a moment on, of a tick. The ticks begin in a range of
// times.
func firstFrom(moment, period time.Duration, begin Range) time.Duration {
	if moment <= begin.Greatest {
		return max(moment, begin.Least)
	}
	periods := (moment - begin.Greatest + period - 1) / period
	return max(moment, begin.Least+periods*period)
}

// lastFrom returns the greatest time of the first tick from a moment on. The ticks begin in a range
// of times before.
func lastFrom(moment, period time.Duration, begin Range) time.Duration {
	periods := max(0, (moment-begin.Greatest+period-1)/period)
	if moment-periods*period > begin.Least {
		return moment + period
	}
	return begin.Greatest + periods*period
}

// divisor returns the greatest common divisor of two periods.
func divisor(a, b time.Duration) time.Duration {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
