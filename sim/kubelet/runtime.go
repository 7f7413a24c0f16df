package kubelet

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
)

// Runtime is the container runtime, as the kubelet calls it.
type Runtime interface {
	// Call makes a call and waits until it returns.
	Call(p *sim.Proc, c fakeruntime.Call) *fakeruntime.Op
	// Release hands back what Call returned once nobody looks at it any more. The slices in it stay valid.
	Release(op *fakeruntime.Op)
	// Answer returns what a list call answers that ends now; Delay draws how long it took.
	Answer(c fakeruntime.Call) *fakeruntime.Op
	Delay(kind fakeruntime.DelayKind) time.Duration
	// PodDelay draws a latency that has to do with a pod.
	PodDelay(kind fakeruntime.DelayKind, pod *v1.Pod) time.Duration
	// CancelProbes ends the calls that run commands for probes of a pod.
	CancelProbes(podUID string)
	// Generation changes whenever a sandbox or container does.
	Generation() uint64
	// NextAttempt returns the attempt after those that the logs of a container tell of.
	NextAttempt(podUID, container string) int
	// Instance returns the instance that a container is.
	Instance(containerID string) int
	// EventInstance returns the instance that an event about a container belongs to.
	EventInstance(podUID, container, reason string) int
}

// runtimePod is a pod as the runtime lists it. Lists are newest first.
type runtimePod struct {
	uid        types.UID
	containers []fakeruntime.Container
	sandboxes  []fakeruntime.Sandbox
	timestamp  time.Duration // when the listing began
	later      bool          // it has changed since its sandboxes were listed, and not before
}

// podStatus is what the runtime says of a pod's sandboxes and containers, newest first.
type podStatus struct {
	sandboxes  []fakeruntime.Sandbox
	containers []fakeruntime.Container
	ips        []string
	timestamp  time.Duration
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

// active returns the containers of the sandbox that is in use, newest first; none if it is not ready (GetPodStatus
// in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
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

// hasActiveRegular reports whether the sandbox in use has a regular container: then all init containers have
// done their work (HasAnyActiveRegularContainerStarted in pkg/kubelet/container/helpers.go at v1.37.0).
func (s *podStatus) hasActiveRegular(pod *v1.Pod) bool {
	return slices.ContainsFunc(s.active(), func(c fakeruntime.Container) bool { return isRegular(pod, c.Name) })
}

// hasRunningRegular reports whether the newest container of a regular one's name runs, or is about to: that was it
// before 1.37 (computeInitContainerActions in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.36.3).
func (s *podStatus) hasRunningRegular(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool {
		rc := s.find(c.Name)
		return rc != nil && (rc.State == fakeruntime.Running || rc.State == fakeruntime.Created)
	})
}

// hasRegular reports whether there is a regular container in any sandbox (HasAnyRegularContainerCreated in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (s *podStatus) hasRegular(pod *v1.Pod) bool {
	return slices.ContainsFunc(s.containers, func(c fakeruntime.Container) bool { return isRegular(pod, c.Name) })
}

func isRegular(pod *v1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.Name == name })
}

// ended reports whether nothing of the pod runs.
func (s *podStatus) ended() bool {
	return !slices.ContainsFunc(s.containers, func(c fakeruntime.Container) bool { return c.State == fakeruntime.Running }) &&
		!slices.ContainsFunc(s.sandboxes, func(s fakeruntime.Sandbox) bool { return s.Ready })
}

// running returns the running containers and all sandboxes, as what has to be stopped
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

// listing is what the two list calls returned.
type listing struct {
	changed    []string // UIDs of the pods that it is about, if it is about those that have changed
	sooner     []string // those of them that the first of the two calls was about
	sandboxes  []fakeruntime.Sandbox
	containers []fakeruntime.Container
	timestamp  time.Duration
}

// list makes the two list calls, one after the other, over what scope says. The time is taken before
// them (getPods in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) list(p *sim.Proc, scope fakeruntime.Call) listing {
	l := listing{timestamp: p.Now()}
	scope.Method = fakeruntime.ListPodSandbox
	l.take(k, k.runtime.Call(p, scope))
	scope.Method = fakeruntime.ListContainers
	l.take(k, k.runtime.Call(p, scope))
	return l
}

// take moves the answer of one of the calls into the listing.
func (l *listing) take(k *Kubelet, op *fakeruntime.Op) {
	if op.Call.Method == fakeruntime.ListPodSandbox {
		l.sandboxes, l.sooner = op.Sandboxes, op.Changed
	} else {
		l.containers = op.Containers
	}
	l.changed = op.Changed
	k.runtime.Release(op)
}

// pods groups a listing by pod, in the order in which the runtime first names them.
func (l listing) pods() []*runtimePod {
	var pods []*runtimePod
	byUID := map[string]*runtimePod{}
	at := func(uid string) *runtimePod {
		r, ok := byUID[uid]
		if !ok {
			r = &runtimePod{uid: types.UID(uid), timestamp: l.timestamp}
			byUID[uid] = r
			pods = append(pods, r)
		}
		return r
	}
	for _, uid := range l.changed {
		at(uid).later = !slices.Contains(l.sooner, uid)
	}
	for _, s := range l.sandboxes {
		r := at(s.PodUID)
		r.sandboxes = append(r.sandboxes, s)
	}
	for _, c := range l.containers {
		r := at(c.PodUID)
		r.containers = append(r.containers, c)
	}
	return pods
}

// inspect asks for the status of each sandbox and then of each container. What has been removed since
// the listing is left out (GetPodStatus in kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) inspect(p *sim.Proc, pod *runtimePod) *podStatus {
	s := &podStatus{timestamp: pod.timestamp}
	k.inspectSandboxes(p, s, pod.sandboxes)
	k.inspectContainers(p, s, pod.containers)
	return s
}

// inspectListing lists a pod's sandboxes, asks for the status of each, and then does the same with the
// containers; up to 1.35 all inspections do (GetPodStatus in kuberuntime_manager.go and updateCache in
// pkg/kubelet/pleg/generic.go at v1.34.4).
func (k *Kubelet) inspectListing(p *sim.Proc, uid types.UID) *podStatus {
	s := &podStatus{timestamp: p.Now()}
	scope := fakeruntime.Call{Method: fakeruntime.ListPodSandbox, PodUID: string(uid)}
	l := listing{}
	l.take(k, k.runtime.Call(p, scope))
	k.inspectSandboxes(p, s, l.sandboxes)
	scope.Method = fakeruntime.ListContainers
	l.take(k, k.runtime.Call(p, scope))
	k.inspectContainers(p, s, l.containers)
	return s
}

func (k *Kubelet) inspectSandboxes(p *sim.Proc, s *podStatus, sandboxes []fakeruntime.Sandbox) {
	for i, sandbox := range sandboxes {
		op := k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.PodSandboxStatus, SandboxID: sandbox.ID})
		if op.Err != nil {
			continue
		}
		s.sandboxes = append(s.sandboxes, op.Sandboxes...)
		if found := op.Sandboxes[0]; i == 0 && found.Ready && found.IP != "" {
			s.ips = []string{found.IP}
		}
	}
}

func (k *Kubelet) inspectContainers(p *sim.Proc, s *podStatus, containers []fakeruntime.Container) {
	for _, c := range containers {
		op := k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.ContainerStatus, ContainerID: c.ID})
		if op.Err == nil {
			s.containers = append(s.containers, op.Containers...)
		}
	}
}

// inspectNow asks for the present status of a pod, whatever was listed before.
func (k *Kubelet) inspectNow(p *sim.Proc, uid types.UID) *podStatus {
	if !k.profile.InspectUsesListing {
		return k.inspectListing(p, uid)
	}
	if pods := k.list(p, fakeruntime.Call{PodUID: string(uid)}).pods(); len(pods) > 0 {
		return k.inspect(p, pods[0])
	}
	return &podStatus{}
}

// do makes a call whose answer does not matter.
func (k *Kubelet) do(p *sim.Proc, c fakeruntime.Call) { k.runtime.Release(k.runtime.Call(p, c)) }
