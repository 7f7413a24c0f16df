package realkubelet

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubelet/config/v1beta1"
	internal "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"

	"probesim.dev/kube/kubeletconfig"
)

// kubeletConfiguration returns the defaults of KubeletConfiguration with the given settings. It
// disables features that need a real node: ports, cgroups, iptables, files of the node, evictions,
// and the collection of images and statistics.
func kubeletConfiguration(set kubeletconfig.Config) (*internal.KubeletConfiguration, error) {
	types, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	// some defaults depend on them
	versioned := &v1beta1.KubeletConfiguration{FeatureGates: supportedGates(set.FeatureGates)}
	types.Default(versioned)
	c := &internal.KubeletConfiguration{}
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
	c.ClusterDNS = []string{clusterDNS} // without it the kubelet emits an event at every sync of a pod
	c.MaxPods = maxPods
	applySettings(set, c)
	return c, nil
}

// applySettings writes the settings to a configuration.
func applySettings(set kubeletconfig.Config, c *internal.KubeletConfiguration) {
	if set.SyncFrequency > 0 {
		c.SyncFrequency.Duration = set.SyncFrequency
	}
	if set.RuntimeRequestTimeout > 0 {
		c.RuntimeRequestTimeout.Duration = set.RuntimeRequestTimeout
	}
	if set.MaxContainerRestartPeriod > 0 {
		c.CrashLoopBackOff.MaxContainerRestartPeriod = &metav1.Duration{Duration: set.MaxContainerRestartPeriod}
	}
	if set.ParallelImagePulls {
		c.SerializeImagePulls = false
		if set.MaxParallelImagePulls > 0 {
			c.MaxParallelImagePulls = &set.MaxParallelImagePulls
		}
	}
	c.ShutdownGracePeriod.Duration = set.ShutdownGracePeriod
	c.ShutdownGracePeriodCriticalPods.Duration = set.ShutdownGracePeriodCriticalPods
	for _, p := range set.ShutdownByPriority {
		c.ShutdownGracePeriodByPodPriority = append(c.ShutdownGracePeriodByPodPriority,
			internal.ShutdownGracePeriodByPodPriority{
				Priority: p.Priority, ShutdownGracePeriodSeconds: p.Seconds,
			})
	}
}
