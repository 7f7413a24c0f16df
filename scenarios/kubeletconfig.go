package scenarios

import (
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
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

const maxBackOff = value.Duration(5 * time.Minute)

// checkConfig checks what the kubelet checks when it starts (ValidateKubeletConfiguration in
// pkg/kubelet/apis/config/validation/validation.go, NewMainKubelet in pkg/kubelet/kubelet.go at v1.37.0).
func (c *checker) checkConfig(config *KubeletConfig, n *strict.Node) {
	if config == nil {
		return
	}
	if f := n.Field("syncFrequency"); config.SyncFrequency != nil && !f.Bad() && *config.SyncFrequency == 0 {
		f.Errorf("must be more than 0s")
	}
	c.checkBackOff(config.CrashLoopBackOff.MaxContainerRestartPeriod, n.Field("crashLoopBackOff").Field("maxContainerRestartPeriod"))
	c.checkShutdown(config, n)
	c.checkGates(config.FeatureGates, n.Field("featureGates"))
}

// checkBackOff checks the maximum, which needs a feature gate in some versions.
func (c *checker) checkBackOff(longest *value.Duration, n *strict.Node) {
	if longest == nil || n.Bad() {
		return
	}
	if *longest < value.Duration(time.Second) || *longest > maxBackOff {
		n.Errorf("must be from 1s to 5m and not %s", longest)
	}
	for _, p := range c.profiles() {
		if !p.KubeletCrashLoopBackOffMax {
			n.Errorf("needs the feature gate KubeletCrashLoopBackOffMax, which is off in %s: see featureGates", p.Version)
			return
		}
	}
}

func (c *checker) checkShutdown(config *KubeletConfig, n *strict.Node) {
	grace, critical, by := n.Field("shutdownGracePeriod"), n.Field("shutdownGracePeriodCriticalPods"), n.Field("shutdownGracePeriodByPodPriority")
	checkShutdownPeriod(config.ShutdownGracePeriod, grace)
	checkShutdownPeriod(config.ShutdownGracePeriodCriticalPods, critical)
	if !grace.Bad() && !critical.Bad() && config.ShutdownGracePeriodCriticalPods > config.ShutdownGracePeriod {
		critical.Errorf("%s is a part of shutdownGracePeriod, which is %s", config.ShutdownGracePeriodCriticalPods, config.ShutdownGracePeriod)
	}
	if len(config.ShutdownGracePeriodByPodPriority) > 0 && config.ShutdownGracePeriod > 0 {
		by.Errorf("takes the place of shutdownGracePeriod: write one of them")
	}
	if !c.fits(by) {
		return
	}
	priorities := map[int32]bool{}
	for i, p := range config.ShutdownGracePeriodByPodPriority {
		seconds := by.Index(i).Field("shutdownGracePeriodSeconds")
		if longest := int64(value.MaxDuration.Seconds()); p.ShutdownGracePeriodSeconds < 0 || p.ShutdownGracePeriodSeconds > longest {
			seconds.Errorf("must be from 0 to %d and not %d", longest, p.ShutdownGracePeriodSeconds)
		}
		if priorities[p.Priority] {
			by.Index(i).Field("priority").Errorf("%d is there twice", p.Priority)
		}
		priorities[p.Priority] = true
	}
}

// checkShutdownPeriod refuses a part of a second.
func checkShutdownPeriod(d value.Duration, n *strict.Node) {
	if d > 0 && d < value.Duration(time.Second) && !n.Bad() {
		n.Errorf("must be 0s or at least 1s and not %s", d)
	}
}

// compile returns the settings for a run.
func (k *KubeletConfig) compile() kubeletconfig.Config {
	var c kubeletconfig.Config
	if k == nil {
		return c
	}
	if k.SyncFrequency != nil {
		c.SyncFrequency = k.SyncFrequency.Time()
	}
	if m := k.CrashLoopBackOff.MaxContainerRestartPeriod; m != nil {
		c.MaxContainerRestartPeriod = m.Time()
	}
	c.ShutdownGracePeriod, c.ShutdownGracePeriodCriticalPods = k.ShutdownGracePeriod.Time(), k.ShutdownGracePeriodCriticalPods.Time()
	for _, p := range k.ShutdownGracePeriodByPodPriority {
		c.ShutdownByPriority = append(c.ShutdownByPriority, kubeletconfig.ShutdownPeriod{Priority: p.Priority, Seconds: p.ShutdownGracePeriodSeconds})
	}
	c.FeatureGates = k.FeatureGates
	return c
}

func (*ShutdownNode) target() string { return "" }

func (*ShutdownNode) name() string { return "shutdownNode" }

// check refuses the step where the kubelet does not wait for a shutdown.
func (*ShutdownNode) check(c *checker, n *strict.Node) {
	config := c.scenario.Spec.Kubelet.Config.compile()
	if !c.spec.Field("kubelet").Field("config").Bad() && len(config.ShutdownPeriods()) == 0 {
		n.Errorf("needs shutdownGracePeriod in kubelet.config: without it the kubelet does not notice (see rebootNode)")
	}
}

func (*ShutdownNode) do(d *Driver, _ int) bool { return d.world.ShutDown() }
