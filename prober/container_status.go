package prober

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/status"
)

// StatusGetter returns the statuses that the workers act on: those that the kubelet has stored, which can be older than
// the state of the runtime and newer than the status in the API.
type StatusGetter interface {
	// Snapshot returns the stored status of a pod, false if there is none.
	Snapshot(uid types.UID) (*status.Snapshot, bool)
}

// containerStatus is the part of a pod's stored status that a worker acts on. It keeps the fields it has read until the
// status manager replaces the status, because most ticks find the status of the tick before. The zero value has read
// nothing.
type containerStatus struct {
	snapshot *status.Snapshot // nil if the pod has no status
	phase    v1.PodPhase
	// containerID is empty if the status does not show the container, or shows it without an ID. The other fields are
	// valid only if there is an ID.
	containerID string
	running     *v1.ContainerStateRunning
	startedAt   time.Time // of running
	started     bool
	terminated  *v1.ContainerStateTerminated
}

// refreshStatus returns the present status of the worker's container.
func (w *worker) refreshStatus() *containerStatus {
	c := &w.cachedStatus
	if c.snapshot == nil || c.snapshot.Outdated {
		c.read(w.manager.status, w.podUID, w.name)
	}
	return c
}

func (c *containerStatus) read(statuses StatusGetter, uid types.UID, container string) {
	*c = containerStatus{}
	snapshot, ok := statuses.Snapshot(uid)
	if !ok {
		return
	}
	c.snapshot, c.phase = snapshot, snapshot.Status.Phase
	s := findContainerStatus(snapshot.Status, container)
	if s == nil {
		return
	}
	c.containerID, c.running, c.terminated = s.ContainerID, s.State.Running, s.State.Terminated
	c.started = s.Started != nil && *s.Started
	if c.running != nil {
		c.startedAt = c.running.StartedAt.Time
	}
}

func (c *containerStatus) podHasStatus() bool { return c.snapshot != nil }

func (c *containerStatus) podIP() string { return c.snapshot.Status.PodIP }

func findContainerStatus(s *v1.PodStatus, name string) *v1.ContainerStatus {
	if c := status.FindContainerStatus(s.ContainerStatuses, name); c != nil {
		return c
	}
	return status.FindContainerStatus(s.InitContainerStatuses, name)
}
