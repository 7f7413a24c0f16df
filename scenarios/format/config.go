package format

import (
	"k8s.io/utils/ptr"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
)

// KubeletConfig is the part of a KubeletConfiguration that the simulator supports. The fields have
// their upstream names (staging/src/k8s.io/kubelet/config/v1beta1/types.go at v1.37.0). If no
// shutdown grace period is set, the kubelet ignores shutdowns of the node.
type KubeletConfig struct {
	SyncFrequency                    *value.Duration    `json:"syncFrequency,omitempty"`         // nil: 1m
	RuntimeRequestTimeout            *value.Duration    `json:"runtimeRequestTimeout,omitempty"` // nil: 2m
	CrashLoopBackOff                 CrashLoopBackOff   `json:"crashLoopBackOff,omitempty"`
	ShutdownGracePeriod              value.Duration     `json:"shutdownGracePeriod,omitempty"`
	ShutdownGracePeriodCriticalPods  value.Duration     `json:"shutdownGracePeriodCriticalPods,omitempty"`
	ShutdownGracePeriodByPodPriority []ShutdownPriority `json:"shutdownGracePeriodByPodPriority,omitempty"`
	// nil: true without MaxParallelImagePulls, or if it is 1
	SerializeImagePulls   *bool           `json:"serializeImagePulls,omitempty"`
	MaxParallelImagePulls *int32          `json:"maxParallelImagePulls,omitempty"` // nil: no limit
	StaticPodPath         string          `json:"staticPodPath,omitempty"`         // without effect
	FeatureGates          map[string]bool `json:"featureGates,omitempty"`
}

// CrashLoopBackOff limits the crash-loop back-off.
type CrashLoopBackOff struct {
	MaxContainerRestartPeriod *value.Duration `json:"maxContainerRestartPeriod,omitempty"` // nil: 5m
}

// ShutdownPriority sets how long pods have to terminate when the node shuts down. It applies to
// pods of this priority and above, up to the priority of the next entry.
type ShutdownPriority struct {
	Priority                   int32 `json:"priority"`
	ShutdownGracePeriodSeconds int64 `json:"shutdownGracePeriodSeconds"`
}

// notSupported are the fields of a KubeletConfiguration that the simulator does not support yet. A
// file that sets such a field is rejected.
var notSupported = []string{"maxPods", "evictionHard", "evictionSoft", "evictionSoftGracePeriod",
	"evictionPressureTransitionPeriod", "evictionMaxPodGracePeriod"}

// UnmarshalNode reports the fields that are not supported.
func (k *KubeletConfig) UnmarshalNode(n *strict.Node) {
	n.Refuse(notSupported, "is not supported yet")
	n.Skip(notSupported...)
	type fields KubeletConfig
	strict.Decode(n, (*fields)(k))
}

// Compile returns the configuration for a run.
func (k *KubeletConfig) Compile() kubeletconfig.Config {
	if k == nil {
		return kubeletconfig.Config{}
	}
	most := ptr.Deref(k.MaxParallelImagePulls, 0)
	c := kubeletconfig.Config{
		SyncFrequency:                   ptr.Deref(k.SyncFrequency, 0).Time(),
		RuntimeRequestTimeout:           ptr.Deref(k.RuntimeRequestTimeout, 0).Time(),
		MaxContainerRestartPeriod:       ptr.Deref(k.CrashLoopBackOff.MaxContainerRestartPeriod, 0).Time(),
		MaxParallelImagePulls:           most,
		ParallelImagePulls:              !ptr.Deref(k.SerializeImagePulls, most <= 1),
		ShutdownGracePeriod:             k.ShutdownGracePeriod.Time(),
		ShutdownGracePeriodCriticalPods: k.ShutdownGracePeriodCriticalPods.Time(),
		FeatureGates:                    k.FeatureGates,
	}
	for _, p := range k.ShutdownGracePeriodByPodPriority {
		c.ShutdownByPriority = append(c.ShutdownByPriority,
			kubeletconfig.ShutdownPeriod{Priority: p.Priority, Seconds: p.ShutdownGracePeriodSeconds})
	}
	return c
}
