package release

import (
	"context"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/metrics/collectors"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/kubernetes/pkg/kubelet/util"
)

// NewPodConfig returns the PodConfig that merges the sources of pods.
func NewPodConfig(recorder record.EventRecorderLogger, latency util.PodStartupLatencyTracker) *config.PodConfig {
	return config.NewPodConfig(config.PodConfigNotificationIncremental, recorder, latency)
}

// PodUpdate returns a value for the channel of a source in PodConfig, with all pods of the source. elem is the
// element type of the channel, which is any.
func PodUpdate(_ reflect.Type, pods []*v1.Pod) reflect.Value {
	return reflect.ValueOf(kubetypes.PodUpdate{Pods: pods, Op: kubetypes.SET, Source: kubetypes.ApiserverSource})
}

// Run starts the kubelet, which never ends.
func Run(_ context.Context, k *kubelet.Kubelet, pods *config.PodConfig) {
	k.StartGarbageCollection()
	go k.Run(pods.Updates())
}

// Collectors returns the collectors that a kubelet registers in the metrics registries of the process.
func Collectors() []metrics.StableCollector {
	return []metrics.StableCollector{
		collectors.NewVolumeStatsCollector(nil),
		collectors.NewLogMetricsCollector(nil),
	}
}
