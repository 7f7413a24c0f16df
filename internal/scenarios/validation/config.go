package validation

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

const maxBackOff = value.Duration(5 * time.Minute)

// checkConfig makes the checks that the kubelet makes when it starts (ValidateKubeletConfiguration
// in pkg/kubelet/apis/config/validation/validation.go and NewMainKubelet in pkg/kubelet/kubelet.go
// at v1.37.0).
func (c *checker) checkConfig(config *format.KubeletConfig, n *strict.Node) {
	if config == nil {
		return
	}
	isZero := func(d *value.Duration) bool { return d != nil && *d == 0 }
	n.Field("syncFrequency").ErrorIf(isZero(config.SyncFrequency), "must be more than 0s")
	n.Field("runtimeRequestTimeout").ErrorIf(isZero(config.RuntimeRequestTimeout), "must be more than 0s")
	c.checkBackOff(config.CrashLoopBackOff.MaxContainerRestartPeriod,
		n.Field("crashLoopBackOff").Field("maxContainerRestartPeriod"))
	checkPulls(config, n)
	c.checkShutdown(config, n)
	c.checkGates(config.FeatureGates, n.Field("featureGates"))
}

// checkPulls checks the limit of parallel image pulls.
func checkPulls(config *format.KubeletConfig, n *strict.Node) {
	most, field := config.MaxParallelImagePulls, n.Field("maxParallelImagePulls")
	switch serial := config.SerializeImagePulls; {
	case most == nil:
	case *most < 1:
		field.Errorf("must be at least 1, not %d", *most)
	case *most > 1 && serial != nil && *serial:
		field.Errorf("must be 1, or left out, with serializeImagePulls: true")
	}
}

// checkBackOff checks the maximum back-off, which needs a feature gate in some versions.
func (c *checker) checkBackOff(longest *value.Duration, n *strict.Node) {
	if longest == nil || n.Bad() {
		return
	}
	n.ErrorIf(*longest < value.Duration(time.Second) || *longest > maxBackOff, "must be from 1s to 5m, not %s", longest)
	off := func(p profile.Profile) bool { return !p.KubeletCrashLoopBackOffMax }
	if i := slices.IndexFunc(c.profiles(), off); i >= 0 {
		n.Errorf("needs the feature gate KubeletCrashLoopBackOffMax, which is off in %s: see featureGates",
			c.against[i].Version)
	}
}

func (c *checker) checkShutdown(config *format.KubeletConfig, n *strict.Node) {
	grace, critical, by := n.Field("shutdownGracePeriod"), n.Field("shutdownGracePeriodCriticalPods"),
		n.Field("shutdownGracePeriodByPodPriority")
	isShort := func(d value.Duration) bool { return d > 0 && d < value.Duration(time.Second) }
	const short = "must be 0s or at least 1s, not %s"
	grace.ErrorIf(isShort(config.ShutdownGracePeriod), short, config.ShutdownGracePeriod)
	critical.ErrorIf(isShort(config.ShutdownGracePeriodCriticalPods), short, config.ShutdownGracePeriodCriticalPods)
	critical.ErrorIf(!grace.Bad() && !critical.Bad() &&
		config.ShutdownGracePeriodCriticalPods > config.ShutdownGracePeriod,
		"%s is longer than shutdownGracePeriod, which is %s", config.ShutdownGracePeriodCriticalPods,
		config.ShutdownGracePeriod)
	by.ErrorIf(len(config.ShutdownGracePeriodByPodPriority) > 0 && config.ShutdownGracePeriod > 0,
		"cannot be combined with shutdownGracePeriod: write only one of them")
	if !format.Fits(by) {
		return
	}
	priorities := map[int32]bool{}
	for i, p := range config.ShutdownGracePeriodByPodPriority {
		checkRange(by.Index(i).Field("shutdownGracePeriodSeconds"), p.ShutdownGracePeriodSeconds, 0, longestSeconds)
		by.Index(i).Field("priority").ErrorIf(priorities[p.Priority], "%d is listed twice", p.Priority)
		priorities[p.Priority] = true
	}
}

// longestSeconds is the longest time that a file can contain, in seconds.
const longestSeconds = int64(value.MaxDuration / time.Second)

// checkRange reports a number that is too small or too large.
func checkRange[N int | int64](n *strict.Node, number, least, most N) {
	n.ErrorIf(number < least || number > most, "must be from %d to %d, not %d", least, most, number)
}

// checkGates reports feature gates that a version does not have, or that the simulator does not
// know.
func (c *checker) checkGates(set map[string]bool, n *strict.Node) {
	if !format.Fits(n) {
		clear(set)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		for _, v := range c.versions {
			p, _ := profile.Named(v.String())
			if _, err := p.SetGate(name, set[name]); err != nil {
				n.Field(name).Errorf("%s", err)
				break
			}
		}
	}
	for _, p := range c.profiles() {
		if on, off := p.CheckGates(); on != "" {
			at := n.Field(on)
			if !at.Written() {
				at = n.Field(off)
			}
			at.Errorf("%s needs %s, which is off in %s: set both", on, off, p.Version)
			break
		}
	}
}

// profiles returns the profiles of the versions that the scenario runs, with its feature gates.
func (c *checker) profiles() []profile.Profile {
	if c.against == nil {
		for _, v := range c.versions {
			if p, ok := profile.Named(v.String()); ok {
				c.against = append(c.against, plan.WithGates(p, c.scenario.Spec.Kubelet.Config.Compile()))
			}
		}
	}
	return c.against
}

// The largest node: no sum of the requests of its pods overflows.
var (
	maxCPU    = resource.MustParse("10000")
	maxMemory = resource.MustParse("1Pi")
)

// checkAllocatable checks the size of the node.
func (c *checker) checkAllocatable(a *format.Allocatable, n *strict.Node) {
	if a == nil {
		return
	}
	n.ErrorIf(a.CPU == nil && a.Memory == nil && !n.Bad(), "needs cpu or memory")
	checkSize(a.CPU, resource.MustParse("1m"), maxCPU, n.Field("cpu"))
	checkSize(a.Memory, resource.MustParse("1"), maxMemory, n.Field("memory"))
}

func checkSize(q *resource.Quantity, least, most resource.Quantity, n *strict.Node) {
	n.ErrorIf(q != nil && (q.Cmp(least) < 0 || q.Cmp(most) > 0), "must be from %s to %s, not %s", &least, &most, q)
}

// checkRoom reports critical pods on a node with a size. For such a pod the kubelet evicts others
// (evictPodsToFreeRequests in pkg/kubelet/preemption/preemption.go at v1.37.0), which is not
// simulated. Static pods are critical too.
func (c *checker) checkRoom(w *workload, n *strict.Node) {
	if c.scenario.Spec.Kubelet.Allocatable == nil {
		return
	}
	const why = "critical pods are not supported yet with kubelet.allocatable: the kubelet evicts other pods for them"
	if w.Spec.Static {
		n.Field("static").Errorf("%s", why)
	} else if p := w.Pod.Spec.Priority; p != nil && *p >= kubeletconfig.SystemCriticalPriority {
		w.errs.At(w.Pod, "spec.priority").Errorf("%s", why)
	}
}
