package prober

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/status"
)

// StatusGetter returns the statuses that the kubelet has stored, on which the workers act. A stored
// status can be older than the state of the runtime and newer than the status in the API.
type StatusGetter interface {
	// Snapshot returns the stored status of a pod, false if there is none.
	Snapshot(uid types.UID) (*status.Snapshot, bool)
}

// ContainerStatus caches the part of a pod's stored status that a worker acts on, because the
// status is the same at most ticks. It is valid until the status manager replaces the status. The
// zero value is an empty cache.
type ContainerStatus struct {
	snapshot *status.Snapshot // nil if the pod has no status
	Phase    v1.PodPhase
	// ContainerID is empty if the status has no ID of the container. The fields below are valid
	// only if it is set.
	ContainerID string
	Running     *v1.ContainerStateRunning
	StartedAt   time.Time // of running
	Started     bool
	Terminated  *v1.ContainerStateTerminated
}

// Refresh returns the stored status of a container, after reading it again if it has changed.
func (c *ContainerStatus) Refresh(statuses StatusGetter, uid types.UID, container string) *ContainerStatus {
	if c.snapshot == nil || c.snapshot.Outdated {
		c.read(statuses, uid, container)
	}
	return c
}

func (c *ContainerStatus) read(statuses StatusGetter, uid types.UID, container string) {
	*c = ContainerStatus{}
	snapshot, ok := statuses.Snapshot(uid)
	if !ok {
		return
	}
	c.snapshot, c.Phase = snapshot, snapshot.Status.Phase
	s := FindContainerStatus(snapshot.Status, container)
	if s == nil {
		return
	}
	c.ContainerID, c.Running, c.Terminated = s.ContainerID, s.State.Running, s.State.Terminated
	c.Started = s.Started != nil && *s.Started
	if c.Running != nil {
		c.StartedAt = c.Running.StartedAt.Time
	}
}

// PodHasStatus reports whether the pod has a stored status.
func (c *ContainerStatus) PodHasStatus() bool { return c.snapshot != nil }

// PodIP returns the IP address in the stored status of the pod.
func (c *ContainerStatus) PodIP() string { return c.snapshot.Status.PodIP }

// FindContainerStatus returns the status of a regular or init container, nil if there is none.
func FindContainerStatus(s *v1.PodStatus, name string) *v1.ContainerStatus {
	if c := status.FindContainerStatus(s.ContainerStatuses, name); c != nil {
		return c
	}
	return status.FindContainerStatus(s.InitContainerStatuses, name)
}
