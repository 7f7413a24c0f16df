package release

import (
	"context"

	"github.com/google/cadvisor/lib/model"
	"k8s.io/klog/v2"
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
func (c *CAdvisor) MachineInfo(klog.Logger) (*model.MachineInfo, error) {
	return &model.MachineInfo{NumCores: c.Cores, MemoryCapacity: c.Bytes}, nil
}

// NewNodeStartupLatencyTracker returns a tracker for the kubelet's metrics.
func NewNodeStartupLatencyTracker(ctx context.Context) util.NodeStartupLatencyTracker {
	return util.NewNodeStartupLatencyTracker(klog.FromContext(ctx))
}
