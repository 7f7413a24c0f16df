// Package kubeletconfig has what the simulator reads of a KubeletConfiguration
// (staging/src/k8s.io/kubelet/config/v1beta1/types.go at v1.37.0).
package kubeletconfig

import (
	"cmp"
	"slices"
	"time"
)

// Config are settings of a kubelet. The zero value has the defaults.
type Config struct {
	// SyncFrequency is after which time a pod is synced even if nothing happens. 0 means a minute.
	SyncFrequency time.Duration
	// MaxContainerRestartPeriod bounds the crash-loop back-off, from 1 s to 5 min. 0: as the version has it. Up to 1.34 it
	// is behind a feature gate that is off.
	MaxContainerRestartPeriod time.Duration
	// ShutdownGracePeriod is what a shutdown of the node waits for its pods; ShutdownGracePeriodCriticalPods is the part of it,
	// at its end, that is for critical pods. Both are 0 or at least 1 s. 0: the node is not shut down gracefully.
	ShutdownGracePeriod, ShutdownGracePeriodCriticalPods time.Duration
	// ShutdownByPriority takes the place of these two, in any order.
	ShutdownByPriority []ShutdownPeriod
	// FeatureGates are those that are not as the version has them. What they change in the simulator is in its profile:
	// see SetGate there.
	FeatureGates map[string]bool
}

// ShutdownPeriod is how long the pods of a priority and above have to end when the node is shut down, up to the
// next priority that has one.
type ShutdownPeriod struct {
	Priority int32
	Seconds  int64
}

// SystemCriticalPriority is the least priority of pods that the node or the cluster needs
// (pkg/apis/scheduling/types.go at v1.37.0).
const SystemCriticalPriority = 2_000_000_000

// ShutdownPeriods returns the periods in the order in which they are used, from the lowest priority to the highest; none if
// the kubelet does not wait for a shutdown (newPodManager and migrateConfig in
// pkg/kubelet/nodeshutdown/nodeshutdown_manager.go at v1.37.0).
func (c *Config) ShutdownPeriods() []ShutdownPeriod {
	periods := slices.Clone(c.ShutdownByPriority)
	if grace, critical := c.ShutdownGracePeriod, c.ShutdownGracePeriodCriticalPods; len(periods) == 0 && grace > 0 && critical <= grace {
		periods = []ShutdownPeriod{
			{0, int64((grace - critical) / time.Second)},
			{SystemCriticalPriority, int64(critical / time.Second)},
		}
	}
	slices.SortStableFunc(periods, func(a, b ShutdownPeriod) int { return cmp.Compare(a.Priority, b.Priority) })
	return periods
}

// Group returns which of the periods of ShutdownPeriods is for a pod of a priority: the highest up to it, or the
// first (groupByPriority in nodeshutdown_manager.go at v1.37.0).
func Group(periods []ShutdownPeriod, priority int32) int {
	group := 0
	for i, p := range periods {
		if p.Priority <= priority {
			group = i
		}
	}
	return group
}
