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
	"k8s.io/kubernetes/pkg/kubelet/util"
)

// NewPodConfig returns the PodConfig that merges the sources of pods.
func NewPodConfig(recorder record.EventRecorderLogger, latency util.PodStartupLatencyTracker) *config.PodConfig {
	return config.NewPodConfig(recorder, latency)
}

// PodUpdate returns a value for the channel of a source in PodConfig, with all pods of the source. elem is the
// element type of the channel, which is not exported.
func PodUpdate(elem reflect.Type, pods []*v1.Pod) reflect.Value {
	update := reflect.New(elem).Elem()
	update.FieldByName("Pods").Set(reflect.ValueOf(pods))
	return update
}

// Run starts the kubelet, which runs until ctx is done.
func Run(ctx context.Context, k *kubelet.Kubelet, pods *config.PodConfig) {
	k.StartGarbageCollection(ctx)
	go k.Run(ctx, pods.Updates())
}

// Collectors returns the collectors that a kubelet registers in the metrics registries of the process.
func Collectors() []metrics.StableCollector {
	return []metrics.StableCollector{
		collectors.NewVolumeStatsCollector(nil),
		collectors.NewLogMetricsCollector(nil),
		collectors.PodCertificateCollectorFor(nil),
	}
}
