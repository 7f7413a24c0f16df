// Package kubeletconfig has what the simulator reads of a KubeletConfiguration
// (staging/src/k8s.io/kubelet/config/v1beta1/types.go at v1.37.0).
package kubeletconfig

import (
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
	// Shutdown are the grace periods of a graceful node shutdown by the priority of pods; none: the node is not shut down
	// gracefully.
	Shutdown []ShutdownPeriod
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

// ShutdownPeriods returns the periods that follow from shutdownGracePeriod, of which the last part, in whole seconds
// each, is for critical pods (migrateConfig in pkg/kubelet/nodeshutdown/nodeshutdown_manager.go at v1.37.0). There are
// none if there is no time.
func ShutdownPeriods(grace, critical time.Duration) []ShutdownPeriod {
	if grace == 0 || critical > grace {
		return nil
	}
	return []ShutdownPeriod{
		{0, int64((grace - critical) / time.Second)},
		{SystemCriticalPriority, int64(critical / time.Second)},
	}
}

// ByPriority returns the periods in the order in which they are used: from the lowest priority to the highest.
func (c *Config) ByPriority() []ShutdownPeriod {
	return slices.SortedStableFunc(slices.Values(c.Shutdown), func(a, b ShutdownPeriod) int { return int(int64(a.Priority) - int64(b.Priority)) })
}

// Group returns which of the periods in the order of ByPriority is for a pod of a priority: the highest up to it, or the
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
