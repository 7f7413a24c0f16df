package tune

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/check"
	"probesim.dev/trace"
)

// readinessFor returns a readiness probe with which a container that has none gets a row, or nil.
// It asks what the liveness or the startup probe asks, or else whether the first port accepts
// connections.
func readinessFor(c *v1.Container, row check.RowID) *v1.Probe {
	if c.ReadinessProbe != nil || decides(settingOf(c), row) || !slices.Contains(row.Probes(), trace.Readiness) {
		return nil
	}
	added := v1.Probe{PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3, SuccessThreshold: 1}
	for _, like := range []*v1.Probe{c.LivenessProbe, c.StartupProbe} {
		if like != nil {
			added.ProbeHandler, added.TimeoutSeconds = like.ProbeHandler, max(1, like.TimeoutSeconds)
			return &added
		}
	}
	for _, port := range c.Ports {
		if port.Protocol == v1.ProtocolTCP || port.Protocol == "" {
			added.TCPSocket = &v1.TCPSocketAction{}
			added.TCPSocket.Port.IntVal = port.ContainerPort
			return &added
		}
	}
	return nil
}
