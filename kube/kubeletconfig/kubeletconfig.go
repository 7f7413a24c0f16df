// Package kubeletconfig defines the part of a KubeletConfiguration that the simulator reads
// (staging/src/k8s.io/kubelet/config/v1beta1/types.go at v1.37.0).
package kubeletconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Config is the configuration of a kubelet. The zero value has the defaults.
type Config struct {
	// SyncFrequency is the time after which the kubelet syncs an unchanged pod. 0 means one minute.
	SyncFrequency time.Duration
	// RuntimeRequestTimeout is the time after which the kubelet gives up most calls to the runtime.
	// 0 means two minutes.
	RuntimeRequestTimeout time.Duration
	// MaxContainerRestartPeriod is the longest crash-loop back-off, from 1 s to 5 min. 0 means the
	// default of the release. It has an effect only with the feature gate
	// KubeletCrashLoopBackOffMax, which is off by default up to 1.34.
	MaxContainerRestartPeriod time.Duration
	// ShutdownGracePeriod is the time that a shutdown of the node waits for pods.
	// ShutdownGracePeriodCriticalPods is the last part of it, for critical pods. Both are 0 or at
	// least 1 s. 0 disables graceful shutdown.
	ShutdownGracePeriod, ShutdownGracePeriodCriticalPods time.Duration
	// ShutdownByPriority replaces both grace periods. The periods can be in any order.
	ShutdownByPriority []ShutdownPeriod
	// ParallelImagePulls makes the kubelet pull images for several containers at the same time, at
	// most MaxParallelImagePulls; 0 means no limit. Otherwise it pulls one image after the other.
	ParallelImagePulls    bool
	MaxParallelImagePulls int32
	// StaticPodPath is the directory with the manifests of static pods. Empty means that the
	// kubelet has none. The path itself has no effect.
	StaticPodPath string
	// Allocatable is the size of the node, which a kubelet finds out itself.
	Allocatable Allocatable
	// FeatureGates are the gates that differ from the defaults of the release. The simulator reads
	// gates from a profile.Profile: use its SetGate.
	FeatureGates map[string]bool
}

// Allocatable is what a node has for the requests of pods. 0 means enough for every pod.
type Allocatable struct {
	MilliCPU int64 // thousandths of a CPU
	Memory   int64 // bytes
}

// ShutdownPeriod is the grace period in a shutdown of the node for the pods with at least this
// priority, up to the priority of the next period.
type ShutdownPeriod struct {
	Priority int32
	Seconds  int64
}

// SystemCriticalPriority is the lowest priority of critical pods
// (pkg/apis/scheduling/types.go at v1.37.0).
const SystemCriticalPriority = 2_000_000_000

// ShutdownPeriods returns the periods in the order of a shutdown, from the lowest priority to the
// highest. It returns none if graceful shutdown is disabled (newPodManager and migrateConfig in
// pkg/kubelet/nodeshutdown/nodeshutdown_manager.go at v1.37.0).
func (c *Config) ShutdownPeriods() []ShutdownPeriod {
	periods := slices.Clone(c.ShutdownByPriority)
	if grace, critical := c.ShutdownGracePeriod, c.ShutdownGracePeriodCriticalPods; len(periods) == 0 && grace > 0 &&
		critical <= grace {
		periods = []ShutdownPeriod{
			{0, int64((grace - critical) / time.Second)},
			{SystemCriticalPriority, int64(critical / time.Second)},
		}
	}
	slices.SortStableFunc(periods, func(a, b ShutdownPeriod) int { return cmp.Compare(a.Priority, b.Priority) })
	return periods
}

// Group returns the index of the period for a pod of a priority in the result of ShutdownPeriods:
// the highest period up to that priority, or the first one (groupByPriority in
// nodeshutdown_manager.go at v1.37.0).
func Group(periods []ShutdownPeriod, priority int32) int {
	group := 0
	for i, p := range periods {
		if p.Priority <= priority {
			group = i
		}
	}
	return group
}

// Validate returns an error that lists all invalid fields, or nil. A kubelet would refuse such a
// configuration (ValidateKubeletConfiguration in pkg/kubelet/apis/config/validation/validation.go
// at v1.37.0).
func (c *Config) Validate() error {
	var errs []error
	report := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.SyncFrequency < 0 {
		report("SyncFrequency is %s: it must not be negative", c.SyncFrequency)
	}
	if c.RuntimeRequestTimeout < 0 {
		report("RuntimeRequestTimeout is %s: it must not be negative", c.RuntimeRequestTimeout)
	}
	if longest := c.MaxContainerRestartPeriod; longest != 0 && (longest < time.Second || longest > 5*time.Minute) {
		report("MaxContainerRestartPeriod is %s: it must be from 1s to 5m", longest)
	}
	if grace := c.ShutdownGracePeriod; grace < 0 || 0 < grace && grace < time.Second {
		report("ShutdownGracePeriod is %s: it must be 0s or at least 1s", grace)
	}
	if critical := c.ShutdownGracePeriodCriticalPods; critical < 0 || 0 < critical && critical < time.Second {
		report("ShutdownGracePeriodCriticalPods is %s: it must be 0s or at least 1s", critical)
	} else if critical > c.ShutdownGracePeriod {
		report("ShutdownGracePeriodCriticalPods is %s: it must not be longer than ShutdownGracePeriod, which is %s",
			critical, c.ShutdownGracePeriod)
	}
	if len(c.ShutdownByPriority) > 0 && c.ShutdownGracePeriod > 0 {
		report("ShutdownByPriority cannot be combined with ShutdownGracePeriod")
	}
	priorities := map[int32]bool{}
	for _, p := range c.ShutdownByPriority {
		if p.Seconds < 0 || p.Seconds > int64(365*24*time.Hour/time.Second) {
			report("ShutdownByPriority has %d s for the priority %d: use 0 s to 365 days", p.Seconds, p.Priority)
		}
		if priorities[p.Priority] {
			report("ShutdownByPriority has the priority %d more than once", p.Priority)
		}
		priorities[p.Priority] = true
	}
	return errors.Join(errs...)
}
