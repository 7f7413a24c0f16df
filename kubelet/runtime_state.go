package kubelet

import (
	"fmt"
	"time"

	"probesim.dev/fakeruntime"
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
