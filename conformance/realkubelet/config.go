package realkubelet

import (
	"time"

	"k8s.io/kubelet/config/v1beta1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
)

// configuration returns the defaults of KubeletConfiguration without all that needs a real node: ports,
// cgroups, iptables, the files of the node, evictions and the collection of images and statistics.
func configuration() (*kubeletconfig.KubeletConfiguration, error) {
	types, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	versioned := &v1beta1.KubeletConfiguration{}
	types.Default(versioned)
	c := &kubeletconfig.KubeletConfiguration{}
	if err := types.Convert(versioned, c, nil); err != nil {
		return nil, err
	}
	c.EnableServer = false
	c.ReadOnlyPort = 0
	c.MakeIPTablesUtilChains = false
	c.CgroupsPerQOS = false
	c.EnforceNodeAllocatable = nil
	c.EvictionHard = map[string]string{}
	c.EnableControllerAttachDetach = false
	c.ImageGCHighThresholdPercent = 100
	c.ImageMaximumGCAge.Duration = 0
	c.VolumeStatsAggPeriod.Duration = -1
	c.ContainerLogMonitorInterval.Duration = 24 * time.Hour
	c.ResolverConfig = ""
	c.ClusterDNS = []string{clusterDNS} // without it the kubelet complains at every sync of a pod
	c.MaxPods = maxPods
	return c, nil
}
