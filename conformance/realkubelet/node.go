package realkubelet

import (
	"cmp"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletcadvisor "k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/cm"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/kube/kubeletconfig"
)

// The size of the node, which has enough for every pod unless the configuration gives another size.
const (
	nodeName  = "node"
	maxPods   = 10_000
	nodeCores = 10_000
	nodeBytes = 1 << 50
)

// sizeOf returns the size that a configuration gives to the node.
func sizeOf(config kubeletconfig.Config) kubeletconfig.Allocatable {
	return kubeletconfig.Allocatable{
		MilliCPU: cmp.Or(config.Allocatable.MilliCPU, 1000*nodeCores),
		Memory:   cmp.Or(config.Allocatable.Memory, nodeBytes),
	}
}

// nodeObject returns the API object of the node.
func nodeObject(size kubeletconfig.Allocatable) *v1.Node {
	resources := v1.ResourceList{
		v1.ResourceCPU:              *resource.NewMilliQuantity(size.MilliCPU, resource.DecimalSI),
		v1.ResourceMemory:           *resource.NewQuantity(size.Memory, resource.BinarySI),
		v1.ResourceEphemeralStorage: *resource.NewQuantity(nodeBytes, resource.BinarySI),
		v1.ResourcePods:             *resource.NewQuantity(maxPods, resource.DecimalSI),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName, UID: nodeName, Labels: map[string]string{
			v1.LabelHostname: nodeName, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64",
		}},
		Status: v1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Addresses:  []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: nodeIP}},
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

// cadvisor reports the size of the machine to the kubelet.
type cadvisor struct {
	kubeletcadvisor.Interface
	root string // root directory of the kubelet
}

func newCAdvisor(root string) *cadvisor {
	return &cadvisor{kubeletapi.NewCAdvisor(nodeCores, nodeBytes), root}
}

// pluginsRegistry is the directory that the kubelet watches for plugins.
const pluginsRegistry = "plugins_registry"

// Start replaces the plugin directory with a file. The kubelet calls Start just before the plugin
// watcher opens inotify, which is real input and would stop the virtual clock. The watcher gives up
// if it finds a file.
func (c *cadvisor) Start() error {
	plugins := filepath.Join(c.root, pluginsRegistry)
	if err := os.RemoveAll(plugins); err != nil {
		return err
	}
	return os.WriteFile(plugins, nil, 0o600)
}

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
