package kubelet

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// listing is what the two list calls returned.
type listing struct {
	changed    []string // UIDs of the pods that it is about, if it is about those that have changed
	sooner     []string // those of them that the first of the two calls was about
	sandboxes  []fakeruntime.Sandbox
	containers []fakeruntime.Container
	timestamp  virtual.Time
}

// list makes the two list calls, one after the other, over what scope says. The time is taken before
// them (getPods in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) list(p *sim.Proc, scope fakeruntime.Call) (listing, error) {
	l := listing{timestamp: p.Now()}
	scope.Method = fakeruntime.ListPodSandbox
	if err := l.take(k, k.runtime.Call(p, scope)); err != nil {
		return l, err
	}
	scope.Method = fakeruntime.ListContainers
	return l, l.take(k, k.runtime.Call(p, scope))
}

// take moves the answer of one of the calls into the listing.
func (l *listing) take(k *Kubelet, op *fakeruntime.Op) error {
	if op.Call.Method == fakeruntime.ListPodSandbox {
		l.sandboxes, l.sooner = op.Sandboxes, op.Changed
	} else {
		l.containers = op.Containers
	}
	l.changed = op.Changed
	err := op.Err
	k.runtime.Release(op)
	return err
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
	return s.unless(k.inspectSandboxes(p, s, pod.sandboxes), func() error { return k.inspectContainers(p, s, pod.containers) })
}

// unless returns the status if neither the first part nor the second had an error, and else that alone. After one the
// second is left out.
func (s *podStatus) unless(err error, second func() error) *podStatus {
	if err == nil {
		err = second()
	}
	if err != nil {
		return &podStatus{timestamp: s.timestamp, err: err}
	}
	return s
}

// inspectListing lists a pod's sandboxes, asks for the status of each, and then does the same with the
// containers; up to 1.35 all inspections do. The newest sandbox is the one with the latest time of creation, and from 1.35
// on the one with the highest attempt (GetPodStatus in kuberuntime_manager.go, podSandboxByCreated in helpers.go and
// updateCache in pkg/kubelet/pleg/generic.go at v1.34.4).
func (k *Kubelet) inspectListing(p *sim.Proc, uid types.UID) *podStatus {
	s := &podStatus{timestamp: p.Now()}
	scope := fakeruntime.Call{Method: fakeruntime.ListPodSandbox, PodUID: string(uid)}
	l := listing{}
	err := l.take(k, k.runtime.Call(p, scope))
	if err == nil {
		err = k.inspectSandboxes(p, s, slices.SortedStableFunc(slices.Values(l.sandboxes), newerSandbox))
	}
	return s.unless(err, func() error {
		scope.Method = fakeruntime.ListContainers
		if err := l.take(k, k.runtime.Call(p, scope)); err != nil {
			return err
		}
		return k.inspectContainers(p, s, l.containers)
	})
}

func (k *Kubelet) inspectSandboxes(p *sim.Proc, s *podStatus, sandboxes []fakeruntime.Sandbox) error {
	for i, sandbox := range sandboxes {
		op := k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.PodSandboxStatus, SandboxID: sandbox.ID})
		if fakeruntime.IsNotFound(op.Err) {
			continue
		}
		if op.Err != nil {
			return op.Err
		}
		s.sandboxes = append(s.sandboxes, op.Sandboxes...)
		if found := op.Sandboxes[0]; i == 0 && found.Ready && found.IP != "" {
			s.ips = []string{found.IP}
		}
	}
	return nil
}

func (k *Kubelet) inspectContainers(p *sim.Proc, s *podStatus, containers []fakeruntime.Container) error {
	for _, c := range containers {
		op := k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.ContainerStatus, ContainerID: c.ID})
		if op.Err != nil && !fakeruntime.IsNotFound(op.Err) {
			return op.Err
		}
		s.containers = append(s.containers, op.Containers...)
	}
	return nil
}

// inspectNow asks for the present status of a pod, whatever was listed before.
func (k *Kubelet) inspectNow(p *sim.Proc, uid types.UID) *podStatus {
	if !k.profile.InspectUsesListing {
		return k.inspectListing(p, uid)
	}
	l, err := k.list(p, fakeruntime.Call{PodUID: string(uid)})
	if err != nil {
		return &podStatus{err: err}
	}
	if pods := l.pods(); len(pods) > 0 {
		return k.inspect(p, pods[0])
	}
	return &podStatus{}
}

// do makes a call of whose answer only the error matters.
func (k *Kubelet) do(p *sim.Proc, c fakeruntime.Call) error {
	op := k.runtime.Call(p, c)
	err := op.Err
	k.runtime.Release(op)
	return err
}
