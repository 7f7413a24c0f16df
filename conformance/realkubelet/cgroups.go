package realkubelet

import (
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/kubelet/cm"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/kube/kubeletconfig"
)

// containerManager is the stub of the kubelet's own tests, with pod cgroups that return what the
// kubelet writes. Because the stub cannot read cgroups, the kubelet would drop the reported
// resources from the status of an ended pod, and send one more status patch
// (pkg/kubelet/kubelet_pods.go, convertToAPIPodLevelResourcesStatus, since v1.36).
type containerManager struct {
	cm.ContainerManager
	root string
	size kubeletconfig.Allocatable
}

func newContainerManager(root string, size kubeletconfig.Allocatable) cm.ContainerManager {
	return containerManager{cm.NewStubContainerManager(), root, size}
}

func (m containerManager) NewPodContainerManager() cm.PodContainerManager {
	return podCgroups{m.ContainerManager.NewPodContainerManager(), m.root}
}

// GetNodeAllocatableAbsolute returns the size of the node. The stub has none, so that kubelets
// before v1.36 find every resize infeasible (canResizePod in
// pkg/kubelet/allocation/allocation_manager.go at v1.35.4).
func (m containerManager) GetNodeAllocatableAbsolute() v1.ResourceList {
	return nodeObject(m.size).Status.Allocatable
}

// GetNodeAllocatableReservation returns what the size of the node leaves of the machine that
// cadvisor reports (MachineInfo in pkg/kubelet/nodestatus/setters.go at v1.37.0).
func (m containerManager) GetNodeAllocatableReservation() v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(1000*nodeCores-m.size.MilliCPU, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(nodeBytes-m.size.Memory, resource.BinarySI),
	}
}

type podCgroups struct {
	cm.PodContainerManager
	root string
}

// Exists reports whether the kubelet has created the directory of a pod, which it does in the same
// sync as the cgroup. In v1.36.4 and later patches it notes the resources of a pod without a cgroup.
func (p podCgroups) Exists(pod *v1.Pod) bool {
	_, err := os.Stat(filepath.Join(p.root, "pods", string(pod.UID)))
	return err == nil
}

// GetPodCgroupConfig returns the pod's limits, with -1 for those that are not set, as cgroup v2
// does (pkg/kubelet/cm/cgroup_v2_manager_linux.go).
func (podCgroups) GetPodCgroupConfig(pod *v1.Pod, _ v1.ResourceName) (*cm.ResourceConfig, error) {
	c := kubeletapi.PodCgroup(pod)
	if c.Memory == nil {
		c.Memory = new(int64(-1))
	}
	if c.CPUQuota == nil {
		c.CPUQuota, c.CPUPeriod = new(int64(-1)), new(uint64(cm.QuotaPeriod))
	}
	return c, nil
}
