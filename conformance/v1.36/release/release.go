// Package release has what the common code must know of the kubelet of Kubernetes v1.36.3: where its Go API is
// not that of other releases. The module of each release has this package, with the same names.
package release

import (
	"context"
	"reflect"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/kubelet"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/metrics/collectors"
	"k8s.io/kubernetes/pkg/kubelet/util"
)

// Version is the release.
const Version = "v1.36.3"

// CAdvisor is what the kubelet knows of its machine.
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

// NewPodConfig returns the configuration that merges the sources of pods.
func NewPodConfig(recorder record.EventRecorderLogger, latency util.PodStartupLatencyTracker) *config.PodConfig {
	return config.NewPodConfig(recorder, latency)
}

// PodUpdate returns a value for the channel of a source in PodConfig: all the pods that the source has. elem is
// the type of the channel's elements, which is not exported.
func PodUpdate(elem reflect.Type, pods []*v1.Pod) reflect.Value {
	update := reflect.New(elem).Elem()
	update.FieldByName("Pods").Set(reflect.ValueOf(pods))
	return update
}

// Run lets the kubelet run until ctx is done.
func Run(ctx context.Context, k *kubelet.Kubelet, pods *config.PodConfig) {
	k.StartGarbageCollection(ctx)
	go k.Run(ctx, pods.Updates())
}

// Collectors are what a kubelet registers for metrics of the whole process.
func Collectors() []metrics.StableCollector {
	return []metrics.StableCollector{
		collectors.NewVolumeStatsCollector(nil),
		collectors.NewLogMetricsCollector(nil),
		collectors.PodCertificateCollectorFor(nil),
	}
}

// EnterBubble is called in each bubble, before anything else, for what is to be made there. What it returns is
// called after the bubble.
func EnterBubble() (leave func()) { return func() {} }
