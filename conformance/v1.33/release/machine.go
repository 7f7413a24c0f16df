package release

import (
	"context"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/util"
)

// CAdvisor reports the size of the machine to the kubelet.
type CAdvisor struct {
	cadvisortest.Fake
	Cores int
	Bytes uint64 // of memory
}

// MachineInfo returns the size of the machine.
func (c *CAdvisor) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	return &cadvisorapi.MachineInfo{NumCores: c.Cores, MemoryCapacity: c.Bytes}, nil
}

// NewNodeStartupLatencyTracker returns a tracker for the kubelet's metrics.
func NewNodeStartupLatencyTracker(context.Context) util.NodeStartupLatencyTracker {
	return util.NewNodeStartupLatencyTracker()
}
