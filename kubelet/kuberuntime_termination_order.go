package kubelet

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// terminationOrder makes each sidecar of a pod wait for the regular containers and for the sidecars
// after it. A nil order makes no container wait
// (pkg/kubelet/kuberuntime/kuberuntime_termination_order.go at v1.37.0).
type terminationOrder struct {
	after   map[string][]string // the containers that each sidecar waits for, in this order
	running map[string]bool
	waiting []*sim.Proc
}

// newTerminationOrder returns the order for the running containers of a pod, or nil if the pod has
// no sidecars.
func newTerminationOrder(pod *v1.Pod, running []fakeruntime.Container) *terminationOrder {
	if !podutil.HasRestartableInitContainer(pod) {
		return nil
	}
	o := &terminationOrder{after: map[string][]string{}, running: map[string]bool{}}
	for _, c := range running {
		o.running[c.Name] = true
	}
	var regular []string
	for i := range pod.Spec.Containers {
		regular = append(regular, pod.Spec.Containers[i].Name)
	}
	var next []string // the sidecar that stops before the current one
	for _, c := range slices.Backward(pod.Spec.InitContainers) {
		if podutil.IsRestartableInitContainer(&c) {
			o.after[c.Name], next = slices.Concat(regular, next), []string{c.Name}
		}
	}
	return o
}

// waitForTurn waits until the containers before this one have stopped, for at most grace seconds.
// It returns the whole seconds of the wait.
func (o *terminationOrder) waitForTurn(p *sim.Proc, name string, grace int64) int64 {
	if o == nil || grace <= 0 {
		return 0
	}
	start := p.Now()
	deadline := afterSeconds(start, grace)
	for p.Now() < deadline && slices.ContainsFunc(o.after[name], func(n string) bool { return o.running[n] }) {
		o.waiting = append(o.waiting, p)
		p.WakeAt(deadline)
		p.Park()
		o.waiting = slices.DeleteFunc(o.waiting, func(w *sim.Proc) bool { return w == p })
	}
	return int64(p.Now().Sub(start) / time.Second)
}

// terminated records that a container has stopped.
func (o *terminationOrder) terminated(name string) {
	if o == nil {
		return
	}
	delete(o.running, name)
	for _, p := range o.waiting {
		p.Interrupt()
	}
}

// afterSeconds returns t plus a number of seconds, or the latest time if the result is beyond it. A
// number of seconds that overflows a virtual.Time wraps around, as it does in the kubelet; some
// become zero.
func afterSeconds(t virtual.Time, seconds int64) virtual.Time {
	d := time.Duration(seconds) * time.Second
	if d > virtual.Max.Sub(max(t, 0)) {
		return virtual.Max
	}
	return t.Add(d)
}
