package scenarios

import (
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// KubeletConfig is the part of a KubeletConfiguration that has an effect here, with the names that it has there
// (staging/src/k8s.io/kubelet/config/v1beta1/types.go at v1.37.0).
type KubeletConfig struct {
	SyncFrequency                    *value.Duration    `json:"syncFrequency,omitempty"` // nil: a minute
	CrashLoopBackOff                 CrashLoopBackOff   `json:"crashLoopBackOff,omitempty"`
	ShutdownGracePeriod              value.Duration     `json:"shutdownGracePeriod,omitempty"`
	ShutdownGracePeriodCriticalPods  value.Duration     `json:"shutdownGracePeriodCriticalPods,omitempty"`
	ShutdownGracePeriodByPodPriority []ShutdownPriority `json:"shutdownGracePeriodByPodPriority,omitempty"`
	FeatureGates                     map[string]bool    `json:"featureGates,omitempty"`

	SerializeImagePulls              later `json:"serializeImagePulls,omitempty"`
	MaxParallelImagePulls            later `json:"maxParallelImagePulls,omitempty"`
	RuntimeRequestTimeout            later `json:"runtimeRequestTimeout,omitempty"`
	MaxPods                          later `json:"maxPods,omitempty"`
	StaticPodPath                    later `json:"staticPodPath,omitempty"`
	EvictionHard                     later `json:"evictionHard,omitempty"`
	EvictionSoft                     later `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod          later `json:"evictionSoftGracePeriod,omitempty"`
	EvictionPressureTransitionPeriod later `json:"evictionPressureTransitionPeriod,omitempty"`
	EvictionMaxPodGracePeriod        later `json:"evictionMaxPodGracePeriod,omitempty"`
}

// CrashLoopBackOff bounds the crash-loop back-off.
type CrashLoopBackOff struct {
	MaxContainerRestartPeriod *value.Duration `json:"maxContainerRestartPeriod,omitempty"` // nil: 5m
}

// ShutdownPriority is how long the pods of a priority and above have to end when the node is shut down.
type ShutdownPriority struct {
	Priority                   int32 `json:"priority"`
	ShutdownGracePeriodSeconds int64 `json:"shutdownGracePeriodSeconds"`
}

// later is a field that the format has and this version does not: whatever is written in it is refused.
type later struct{}

// UnmarshalNode refuses the field.
func (later) UnmarshalNode(n *strict.Node) { n.Errorf("%s is not supported yet", n.Name()) }

// Refused tells documentation to leave the field out.
func (later) Refused() {}
