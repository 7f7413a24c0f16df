package prober

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/status"
)

// StatusGetter returns the statuses that the kubelet has stored, on which the workers act. A stored status can be older
// than the state of the runtime and newer than the status in the API.
type StatusGetter interface {
	// Snapshot returns the stored status of a pod, false if there is none.
	Snapshot(uid types.UID) (*status.Snapshot, bool)
}

// containerStatus caches the part of a pod's stored status that a worker acts on, because the status is the same at most
// ticks. It is valid until the status manager replaces the status. The zero value is an empty cache.
type containerStatus struct {
	snapshot *status.Snapshot // nil if the pod has no status
	phase    v1.PodPhase
	// containerID is empty if the status has no ID of the container. The fields below are valid only if it is set.
	containerID string
	running     *v1.ContainerStateRunning
	startedAt   time.Time // of running
	started     bool
	terminated  *v1.ContainerStateTerminated
}

// refresh returns the stored status of a container, after reading it again if it has changed.
func (c *containerStatus) refresh(statuses StatusGetter, uid types.UID, container string) *containerStatus {
	if c.snapshot == nil || c.snapshot.Outdated {
		c.read(statuses, uid, container)
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
