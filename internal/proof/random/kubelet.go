package random

import (
	"slices"
	"time"
)

// uptimes are the ages of the kubelet at t=0: the default; so young that probe workers first wait
// for a part of their period; older than all periods.
var uptimes = []weighted[[2]time.Duration]{
	{80, [2]time.Duration{}},
	{12, [2]time.Duration{1100 * time.Millisecond, 9 * time.Second}},
	{3, [2]time.Duration{9 * time.Second, 100 * time.Second}},
	{5, [2]time.Duration{3700 * time.Second, 4500 * time.Second}},
}

// shortUptimes are the ages of the kubelet in short scenarios. Older kubelets take longer to
// simulate.
var shortUptimes = []weighted[[2]time.Duration]{
	{70, [2]time.Duration{1100 * time.Millisecond, 5 * time.Second}},
	{28, [2]time.Duration{5 * time.Second, 30 * time.Second}},
	{2, [2]time.Duration{30 * time.Second, 200 * time.Second}},
}

// kubelet returns the field kubelet of a scenario, which can be empty.
func (g *generator) kubelet() tree {
	kubelet, ages := inline(), uptimes
	if g.options.Short {
		ages = shortUptimes
	}
	if between := pick(&g.rng, ages); between[1] > 0 {
		put(kubelet, "uptime", g.draw(g.odd(between[0], between[1])))
	}
	return put(kubelet, "config", filled(g.config()))
}

// config returns the settings of the kubelet.
func (g *generator) config() tree {
	n := inline("syncFrequency", g.maybe(3, func() any { return g.time(time.Second, 5*time.Minute) }))
	if g.percent(3) {
		put(n, "crashLoopBackOff", inline("maxContainerRestartPeriod", g.time(time.Second, time.Minute)))
	}
	if g.percent(20) {
		g.putShutdown(n)
	}
	g.putFeatureGates(n)
	return n
}

// gateSettings returns the settings of feature gates that the scenario allows: a gate must stay on
// if the scenario uses its feature.
func (g *generator) gateSettings(config tree) [][]any {
	settings := [][]any{
		{"ChangeContainerStatusOnKubeletRestart", true},
		{"ReduceDefaultCrashLoopBackOffDecay", true},
		{"GRPCContainerProbeTLS", true},
		{"ContainerRestartRules", false, "RestartAllContainersOnContainerExits", false},
	}
	if !g.anyContainer(func(c *container) bool { return c.restartsAll }) {
		settings = append(settings, []any{"RestartAllContainersOnContainerExits", false})
	}
	if !has(config, "crashLoopBackOff") {
		settings = append(settings, []any{"KubeletCrashLoopBackOffMax", false},
			[]any{"KubeletCrashLoopBackOffMax", false, "ReduceDefaultCrashLoopBackOffDecay", true})
	}
	return settings
}

// putFeatureGates changes some feature gates, and usually turns on those for HTTP/2 and stop
// signals if the scenario uses them.
func (g *generator) putFeatureGates(config tree) {
	gates, aside := inline(), g.aside()
	if aside.percent(10) {
		put(gates, one(&aside.rng, g.gateSettings(config)...)...)
	}
	if g.anyContainer(func(c *container) bool { return c.http2 }) && aside.percent(75) {
		put(gates, "H2CContainerProbe", true)
	}
	if slices.ContainsFunc(g.pods, func(p *pod) bool { return p.signals }) && aside.percent(80) {
		put(gates, "ContainerStopSignals", true)
	}
	put(config, "featureGates", filled(gates))
}

// putShutdown sets the shutdown grace periods of the kubelet.
func (g *generator) putShutdown(config tree) {
	g.listens = true
	if g.percent(50) {
		grace := g.between(1, 60)
		put(config, "shutdownGracePeriod", time.Duration(grace)*time.Second)
		put(config, "shutdownGracePeriodCriticalPods", g.maybe(70, func() any {
			return time.Duration(g.between(1, grace)) * time.Second
		}))
		return
	}
	for _, priority := range []int{priorities[2], priorities[0], priorities[1]} {
		period := inline("priority", priority, "shutdownGracePeriodSeconds", g.between(0, 30))
		add(config, "shutdownGracePeriodByPodPriority", period)
	}
}

// priorities are the priorities of pods. The last one makes a pod critical.
var priorities = []int{-10, 1000, 2_000_000_000}
