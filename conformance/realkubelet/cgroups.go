package realkubelet

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm"

	"probesim.dev/conformance/kubelet/release"
)

// containerManager is the stub that the kubelet's own tests use, but for the cgroups of pods: they hold what the kubelet
// writes into them. The stub cannot read them, for which the kubelet would drop the resources that it has reported from
// the status of a pod that has ended, and send that once more (pkg/kubelet/kubelet_pods.go,
// convertToAPIPodLevelResourcesStatus, from v1.36 on).
type containerManager struct{ cm.ContainerManager }

func newContainerManager() cm.ContainerManager { return containerManager{cm.NewStubContainerManager()} }

func (m containerManager) NewPodContainerManager() cm.PodContainerManager {
	return podCgroups{m.ContainerManager.NewPodContainerManager()}
}

type podCgroups struct{ cm.PodContainerManager }

// GetPodCgroupConfig reads the limits that are not set as -1 (pkg/kubelet/cm/cgroup_v2_manager_linux.go).
func (podCgroups) GetPodCgroupConfig(pod *v1.Pod, _ v1.ResourceName) (*cm.ResourceConfig, error) {
	c := release.PodCgroup(pod)
	if c.Memory == nil {
		c.Memory = new(int64(-1))
	}
	if c.CPUQuota == nil {
		c.CPUQuota, c.CPUPeriod = new(int64(-1)), new(uint64(cm.QuotaPeriod))
	}
	return c, nil
}
