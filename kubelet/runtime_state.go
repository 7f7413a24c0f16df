package kubelet

import (
	"fmt"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
)

// runtimeState is the last known status of the container runtime (pkg/kubelet/runtime.go at
// v1.37.0).
type runtimeState struct {
	lastReady    virtual.Time // time of the last check that found the runtime ready
	notReady     bool         // the last check found the runtime not ready
	networkError string       // why the network is not ready; empty if it is
}

// newRuntimeState returns the state before the first check.
func newRuntimeState() runtimeState {
	return runtimeState{lastReady: never, networkError: "network state unknown"}
}

// runtimeHealthy reports whether the sync loop may run at the time at: the runtime was ready within
// 30 s, and the last relist is recent enough (runtimeErrors in pkg/kubelet/runtime.go at v1.37.0).
func (k *Kubelet) runtimeHealthy(at virtual.Time) bool {
	s := &k.runtimeState
	return s.lastReady != never && at < s.lastReady.Add(runtimeThreshold) && !s.notReady && k.pleg.healthy(at)
}

// update stores the conditions that a status call returned.
func (s *runtimeState) update(now virtual.Time, conditions []fakeruntime.Condition) {
	for _, c := range conditions {
		switch {
		case c.Type == fakeruntime.RuntimeReady:
			s.notReady = !c.Status
		case c.Status:
			s.networkError = ""
		default:
			s.networkError = fmt.Sprintf("container runtime network not ready: %s=%t reason:%s message:%s", c.Type,
				c.Status, c.Reason, c.Message)
		}
	}
	if !s.notReady {
		s.lastReady = now
	}
}
