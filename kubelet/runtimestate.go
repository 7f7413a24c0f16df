package kubelet

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
)

const (
	// runtimeCheckPeriod is from one look at the runtime's status to the next, and runtimeThreshold how long it may
	// not have been well (pkg/kubelet/kubelet.go at v1.37.0).
	runtimeCheckPeriod = 5 * time.Second
	runtimeThreshold   = 30 * time.Second
	// networkNotReady is what events and errors call it (pkg/kubelet/errors.go at v1.37.0).
	networkNotReady = "network is not ready"
)

// runtimeState is how the runtime was when it was last asked (pkg/kubelet/runtime.go at v1.37.0).
type runtimeState struct {
	lastReady    time.Duration // when it was found ready; never at first
	notReady     bool          // it answered that it is not ready
	networkError string        // why pods cannot have a network; empty if they can
}

func newRuntimeState() runtimeState {
	return runtimeState{lastReady: never, networkError: "network state unknown"}
}

// runtimeHealthy reports whether the sync loop may go on (runtimeErrors in runtime.go at v1.37.0).
func (k *Kubelet) runtimeHealthy() bool {
	s := &k.runtimeState
	return s.lastReady != never && k.sim.Now() < s.lastReady+runtimeThreshold && !s.notReady && k.pleg.healthy()
}

// startRuntimeCheck asks the runtime now and every five seconds how it is. Without an answer all is as it was before
// (updateRuntimeUp in kubelet.go at v1.37.0). The call takes no time and so needs no process.
func (k *Kubelet) startRuntimeCheck() {
	var timer *sim.Timer
	check := func() {
		op := k.runtime.Answer(fakeruntime.Call{Method: fakeruntime.Status})
		if op.Err == nil {
			k.runtimeState.take(k.sim.Now(), op.Conditions)
		}
		k.runtime.Release(op)
		k.sim.Set(timer, k.sim.Now()+runtimeCheckPeriod)
	}
	timer = k.sim.NewTimer("runtime check", check)
	check()
}

func (s *runtimeState) take(now time.Duration, conditions []fakeruntime.Condition) {
	for _, c := range conditions {
		switch {
		case c.Type == fakeruntime.RuntimeReady:
			s.notReady = !c.Status
		case c.Status:
			s.networkError = ""
		default:
			s.networkError = fmt.Sprintf("container runtime network not ready: %s=%t reason:%s message:%s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	if !s.notReady {
		s.lastReady = now
	}
}

// networkReady reports whether a pod can have a network, and leaves an event if not. A pod in the node's network needs
// none (SyncPod in kubelet.go at v1.37.0).
func (k *Kubelet) networkReady(pod *v1.Pod, cause int64) bool {
	why := k.runtimeState.networkError
	if why == "" || pod.Spec.HostNetwork {
		return true
	}
	k.podEvent(pod, v1.EventTypeWarning, "NetworkNotReady", networkNotReady+": "+why, cause)
	return false
}
