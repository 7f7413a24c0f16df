package apiserver

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Observed returns the part of a pod's status that the trace records. Containers are in the order
// of the spec: init containers, regular containers, ephemeral containers; those without a status
// are left out.
func Observed(pod *v1.Pod) *trace.PodStatus {
	s := &trace.PodStatus{Phase: string(pod.Status.Phase), Reason: pod.Status.Reason}
	for _, c := range pod.Status.Conditions {
		is := c.Status == v1.ConditionTrue
		switch c.Type {
		case v1.PodInitialized:
			s.Initialized = is
		case v1.ContainersReady:
			s.ContainersReady = is
		case v1.PodReady:
			s.Ready = is
		}
	}
	s.Containers = make([]trace.ContainerStatus, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	each(pod, func(c *v1.ContainerStatus) { s.Containers = append(s.Containers, observedContainer(c)) })
	return s
}

// each calls f for the status of each container: init, regular and ephemeral containers, each in
// the order of the spec.
func each(pod *v1.Pod, f func(*v1.ContainerStatus)) {
	eachOf(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, f)
	eachOf(pod.Spec.Containers, pod.Status.ContainerStatuses, f)
	for i := range pod.Spec.EphemeralContainers {
		eachNamed(pod.Spec.EphemeralContainers[i].Name, pod.Status.EphemeralContainerStatuses, f)
	}
}

func eachOf(specs []v1.Container, statuses []v1.ContainerStatus, f func(*v1.ContainerStatus)) {
	for i := range specs {
		eachNamed(specs[i].Name, statuses, f)
	}
}

func eachNamed(name string, statuses []v1.ContainerStatus, f func(*v1.ContainerStatus)) {
	for i := range statuses {
		if statuses[i].Name == name {
			f(&statuses[i])
		}
	}
}

func observedContainer(c *v1.ContainerStatus) trace.ContainerStatus {
	o := trace.ContainerStatus{
		Name: c.Name, State: "waiting", Ready: c.Ready, Started: c.Started != nil && *c.Started,
		RestartCount: c.RestartCount,
	}
	switch {
	case c.State.Running != nil:
		o.State = "running"
	case c.State.Terminated != nil:
		o.State, o.Reason, o.ExitCode = "terminated", c.State.Terminated.Reason, c.State.Terminated.ExitCode
	case c.State.Waiting != nil:
		o.Reason = c.State.Waiting.Reason
	}
	return o
}

// ObservedInDetail returns the status of a pod with its details. zero is the wall time of the
// virtual time 0.
func ObservedInDetail(pod *v1.Pod, zero time.Time) *trace.PodStatus {
	s := Observed(pod)
	d := &trace.PodDetails{}
	for _, ip := range pod.Status.PodIPs {
		d.PodIPs = append(d.PodIPs, ip.IP)
	}
	for _, c := range pod.Status.Conditions {
		d.Conditions = append(d.Conditions, trace.Condition{
			Type: string(c.Type), Status: string(c.Status), Since: since(c.LastTransitionTime, zero), Reason: c.Reason,
			Message: c.Message,
		})
	}
	slices.SortFunc(d.Conditions, func(a, b trace.Condition) int { return strings.Compare(a.Type, b.Type) })
	i := 0
	each(pod, func(c *v1.ContainerStatus) {
		s.Containers[i].Details = containerDetails(c, zero)
		i++
	})
	s.Details = d
	return s
}

func containerDetails(c *v1.ContainerStatus, zero time.Time) *trace.ContainerDetails {
	d := &trace.ContainerDetails{Image: c.Image}
	switch {
	case c.State.Running != nil:
		d.StartedAt = known(c.State.Running.StartedAt, zero)
	case c.State.Terminated != nil:
		d.StartedAt, d.FinishedAt = known(c.State.Terminated.StartedAt, zero),
			known(c.State.Terminated.FinishedAt, zero)
	}
	if last := c.LastTerminationState.Terminated; last != nil {
		d.LastState = &trace.Termination{
			ExitCode: last.ExitCode, Reason: last.Reason, StartedAt: known(last.StartedAt, zero),
			FinishedAt: known(last.FinishedAt, zero),
		}
	}
	return d
}

// since returns a time of the API as a virtual time.
func since(t metav1.Time, zero time.Time) virtual.Time { return virtual.At(t.Sub(zero)) }

// known returns a time of the API as a virtual time, or nil if the API has no time: that of a
// container that the runtime has lost, for example. The API has whole seconds.
func known(t metav1.Time, zero time.Time) *virtual.Time {
	if t.IsZero() {
		return nil
	}
	return new(since(metav1.NewTime(t.Truncate(time.Second)), zero))
}
