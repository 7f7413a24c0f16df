package bounds

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
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
