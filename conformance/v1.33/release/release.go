// Package release has the code that depends on the Go API of the kubelet of Kubernetes v1.33.13. The module of
// each release has this package, with the same exported names.
package release

import (
	"context"
	"reflect"
	"time"
	_ "unsafe" // for linkname

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	_ "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/kubelet"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/metrics/collectors"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/kubernetes/pkg/kubelet/util"
)

// Version is the Kubernetes version of the kubelet.
const Version = "v1.33.13"

// CAdvisor reports the size of the machine to the kubelet.
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

// neverExitWatch is a channel on which the reflectors of client-go v0.33 wait (tools/cache/reflector.go). A
// goroutine that waits on a channel from outside its bubble does not count as durably blocked, so each bubble
// needs its own channel.
//
//go:linkname neverExitWatch k8s.io/client-go/tools/cache.neverExitWatch
var neverExitWatch <-chan time.Time

// EnterBubble prepares the process for a bubble. Call it first in each bubble, and call leave after the bubble.
func EnterBubble() (leave func()) {
	outside := neverExitWatch
	neverExitWatch = make(chan time.Time)
	return func() { neverExitWatch = outside }
}
