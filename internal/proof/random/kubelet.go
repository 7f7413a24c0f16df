package random

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"probesim.dev/internal/value"
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
func (g *generator) kubelet() *yaml.Node {
	kubelet, ages := inline(), uptimes
	if g.options.Short {
		ages = shortUptimes
	}
	if between := pick(&g.rng, ages); between[1] > 0 {
		put(kubelet, "uptime", text(g.draw(g.odd(between[0], between[1]))))
	}
	if config := g.config(); len(config.Content) > 0 {
		put(kubelet, "config", config)
	}
	return kubelet
}

// config returns the settings of the kubelet.
func (g *generator) config() *yaml.Node {
	n := inline()
	if g.percent(3) {
		put(n, "syncFrequency", text(value.Format(g.time(time.Second, 5*time.Minute))))
	}
	if g.percent(3) {
		longest := inline()
		put(longest, "maxContainerRestartPeriod", text(value.Format(g.time(time.Second, time.Minute))))
		put(n, "crashLoopBackOff", longest)
	}
	if g.percent(20) {
		g.putShutdown(n)
	}
	g.putFeatureGates(n)
	return n
}

// gateSettings returns the settings of feature gates that the scenario allows: a gate must stay on
// if the scenario uses its feature.
func (g *generator) gateSettings(config *yaml.Node) [][]string {
	settings := [][]string{
		{"ChangeContainerStatusOnKubeletRestart", "true"},
		{"ReduceDefaultCrashLoopBackOffDecay", "true"},
		{"GRPCContainerProbeTLS", "true"},
		{"ContainerRestartRules", "false", "RestartAllContainersOnContainerExits", "false"},
	}
	if !g.restartsAll() {
		settings = append(settings, []string{"RestartAllContainersOnContainerExits", "false"})
	}
	if !has(config, "crashLoopBackOff") {
		settings = append(settings, []string{"KubeletCrashLoopBackOffMax", "false"},
			[]string{"KubeletCrashLoopBackOffMax", "false", "ReduceDefaultCrashLoopBackOffDecay", "true"})
	}
	return settings
}

// putFeatureGates changes some feature gates, and usually turns on those for HTTP/2 and stop
// signals if the scenario uses them.
func (g *generator) putFeatureGates(config *yaml.Node) {
	var set []string
	aside := g.aside()
	if aside.percent(10) {
		set = one(&aside.rng, g.gateSettings(config)...)
	}
	if g.speaksHTTP2() && aside.percent(75) {
		set = append(slices.Clip(set), "H2CContainerProbe", "true")
	}
	if slices.ContainsFunc(g.pods, func(p *pod) bool { return p.signals }) && aside.percent(80) {
		set = append(slices.Clip(set), "ContainerStopSignals", "true")
	}
	gates := inline()
	for i := 0; i < len(set); i += 2 {
		put(gates, set[i], literal(set[i+1]))
	}
	if len(set) > 0 {
		put(config, "featureGates", gates)
	}
}

func (g *generator) speaksHTTP2() bool {
	return slices.ContainsFunc(g.pods, func(p *pod) bool {
		return slices.ContainsFunc(p.all(), func(c *container) bool { return c.http2 })
	})
}

// putShutdown sets the shutdown grace periods of the kubelet.
func (g *generator) putShutdown(config *yaml.Node) {
	g.listens = true
	if g.percent(50) {
		grace := g.between(1, 60)
		put(config, "shutdownGracePeriod", text(value.Format(time.Duration(grace)*time.Second)))
		if g.percent(70) {
			put(config, "shutdownGracePeriodCriticalPods",
				text(value.Format(time.Duration(g.between(1, grace))*time.Second)))
		}
		return
	}
	periods := list()
	for _, priority := range []int{priorities[2], priorities[0], priorities[1]} {
		p := inline()
		put(p, "priority", number(priority))
		put(p, "shutdownGracePeriodSeconds", number(g.between(0, 30)))
		periods.Content = append(periods.Content, p)
	}
	put(config, "shutdownGracePeriodByPodPriority", periods)
}

// priorities are the priorities of pods. The last one makes a pod critical.
var priorities = []int{-10, 1000, 2_000_000_000}
