package kubeletapi

import (
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"

	"probesim.dev/conformance/kubelet/release"
)

// NewCAdvisor returns a cAdvisor that reports the size of the machine to the kubelet.
func NewCAdvisor(cores int, memoryBytes uint64) cadvisor.Interface {
	m := &release.MachineInfo{NumCores: cores, MemoryCapacity: memoryBytes}
	return oneOf[cadvisor.Interface](&machineUntil136{info: m}, &machineSince137{info: m})
}

// CAdvisors of the releases, which differ in MachineInfo.
type (
	machineUntil136 struct {
		cadvisortest.Fake
		info *release.MachineInfo
	}
	machineSince137 machineUntil136
)

func (c *machineUntil136) MachineInfo() (*release.MachineInfo, error) { return c.info, nil }

func (c *machineSince137) MachineInfo(klog.Logger) (*release.MachineInfo, error) { return c.info, nil }
