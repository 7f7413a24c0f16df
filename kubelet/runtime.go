package kubelet

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// Runtime is the container runtime, as the kubelet sees it.
type Runtime interface {
	// Call makes a call and waits until it returns.
	Call(p *sim.Proc, c fakeruntime.Call) *fakeruntime.Op
	// ListsEnds appends the times at which list calls end if they begin at a time, one after the
	// other. It appends virtual.Max and no more if they fail or leave records. If the caller can do
	// without the answers, because nothing has changed and nothing else happens until the end,
	// SkipLists lets the process p, which waits, skip a number of calls.
	ListsEnds(ends []virtual.Time, at virtual.Time, calls ...fakeruntime.Method) []virtual.Time
	SkipLists(p *sim.Proc, times int64, calls int)
	// Release returns a result of Call for reuse. The slices in the result stay valid.
	Release(op *fakeruntime.Op)
	// Answer returns the answer of a list or status call that ends now.
	Answer(c fakeruntime.Call) *fakeruntime.Op
	// Down reports whether the runtime is down; DownAt, whether it was just before a time.
	// LastOutage returns when it last went down, virtual.Min if it never did.
	Down() bool
	DownAt(virtual.Time) bool
	LastOutage() virtual.Time
	// Healthy reports whether a status call would now return no false condition.
	Healthy() bool
	// MountDelay returns how long the volumes of a pod take to mount, in addition to the time of an
	// emptyDir.
	MountDelay(podUID string) time.Duration
	// CancelProbes ends the commands of a pod's exec probes.
	CancelProbes(podUID string)
	// Generation returns a number that grows with each change of a sandbox or container.
	Generation() uint64
	// NextAttempt returns the attempt after the last one for which a container has logs.
	NextAttempt(podUID, container string) int
	// Instance returns the instance number of a container.
	Instance(containerID string) int
	// Step returns the step of the last record about a container; LastStep covers all instances of
	// a name.
	Step(containerID string) int64
	LastStep(podUID, container string) int64
	// EventInstance returns the instance number of an event about a container.
	EventInstance(podUID, container, reason string) int
}

// runtimePod is a pod in a list of the runtime. Its containers and sandboxes are sorted, newest
// first.
type runtimePod struct {
	uid        types.UID
	containers []fakeruntime.Container
	sandboxes  []fakeruntime.Sandbox
	timestamp  virtual.Time // time before the list calls
	later      bool         // the pod first changed after its sandboxes were listed
}

// podStatus is the status of a pod's sandboxes and containers in the runtime, newest first.
type podStatus struct {
	sandboxes  []fakeruntime.Sandbox
	containers []fakeruntime.Container
	// those that the kubelet gave to each of the containers, at the inspection; nil if it did not
	// know
	resources []*amounts
	ips       []string
	timestamp virtual.Time
	err       error // error of a call; the other fields are empty then
}

// ip returns the first address of the pod, or an empty string.
func (s *podStatus) ip() string {
	if len(s.ips) == 0 {
		return ""
	}
	return s.ips[0]
}

// find returns the newest container of that name, or nil.
func (s *podStatus) find(name string) *fakeruntime.Container {
	for i := range s.containers {
		if s.containers[i].Name == name {
			return &s.containers[i]
		}
	}
	return nil
}

// active returns the containers of the current sandbox, newest first. There are none if the sandbox
// is not ready (GetPodStatus in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (s *podStatus) active() []fakeruntime.Container {
	if sandboxChange(s) != "" {
		return nil
	}
	in := func(c fakeruntime.Container) bool { return c.SandboxID == s.sandboxes[0].ID }
	if first := slices.IndexFunc(s.containers, func(c fakeruntime.Container) bool { return !in(c) }); first >= 0 {
		return slices.DeleteFunc(slices.Clone(s.containers), func(c fakeruntime.Container) bool { return !in(c) })
	}
	return s.containers
}

// hasActiveRegular reports whether the current sandbox has a regular container. If so, the init
// containers have completed (HasAnyActiveRegularContainerStarted in
// pkg/kubelet/container/helpers.go at v1.37.0).
func (s *podStatus) hasActiveRegular(pod *v1.Pod) bool {
	return slices.ContainsFunc(s.active(), func(c fakeruntime.Container) bool { return isRegular(pod, c.Name) })
}

// hasRunningRegular reports whether the newest instance of a regular container is running or
// created. Versions before 1.37 use it in place of hasActiveRegular (computeInitContainerActions in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.36.3).
func (s *podStatus) hasRunningRegular(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool {
		rc := s.find(c.Name)
		return rc != nil && (rc.State == fakeruntime.Running || rc.State == fakeruntime.Created)
	})
}

// hasRegular reports whether any sandbox has a regular container (HasAnyRegularContainerCreated in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (s *podStatus) hasRegular(pod *v1.Pod) bool {
	return slices.ContainsFunc(s.containers, func(c fakeruntime.Container) bool { return isRegular(pod, c.Name) })
}

func isRegular(pod *v1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.Name == name })
}

// ended reports whether the status is known and no container or sandbox runs
// (isPodStatusCacheTerminal in pkg/kubelet/pod_workers.go at v1.37.0).
func (s *podStatus) ended() bool {
	return s.err == nil && !slices.ContainsFunc(s.containers,
		func(c fakeruntime.Container) bool { return c.State == fakeruntime.Running }) &&
		!slices.ContainsFunc(s.sandboxes, func(s fakeruntime.Sandbox) bool { return s.Ready })
}

// running returns the running containers and all sandboxes, which a kill of the pod must stop
// (ConvertPodStatusToRunningPod in pkg/kubelet/container/helpers.go at v1.37.0).
func (s *podStatus) running() runtimePod {
	r := runtimePod{sandboxes: s.sandboxes}
	for _, c := range s.containers {
		if c.State == fakeruntime.Running {
			r.containers = append(r.containers, c)
		}
	}
	return r
}

// toAPIPod returns an API pod with the fields that the runtime knows (ToAPIPod in
// pkg/kubelet/container/runtime.go at v1.37.0).
func (r *runtimePod) toAPIPod() *v1.Pod {
	pod := &v1.Pod{}
	pod.UID = r.uid
	for _, s := range r.sandboxes {
		pod.Namespace, pod.Name = s.Namespace, s.PodName
	}
	for _, c := range r.containers {
		pod.Namespace, pod.Name = c.Namespace, c.PodName
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: c.Name, Image: c.Image})
	}
	return pod
}
