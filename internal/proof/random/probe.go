package random

import "time"

// probe is a probe of a container.
type probe struct {
	key     string        // the key in rules: liveness, readiness or startup
	handler string        // exec, httpGet, …
	action  tree          // the field of the handler
	timeout time.Duration // timeoutSeconds
}

// probe returns the probe of the container with a key, or nil.
func (c *container) probe(key string) *probe {
	for _, p := range c.probes {
		if p.key == key {
			return p
		}
	}
	return nil
}

// combinations are the combinations of probes in a container.
var combinations = []weighted[string]{
	{6, ""}, {15, "liveness"}, {14, "readiness"}, {8, "startup"}, {19, "liveness readiness"},
	{10, "startup liveness"}, {8, "startup readiness"}, {20, "startup liveness readiness"},
}

// mostSeconds is the longest period of a probe in a scenario with rollouts.
const mostSeconds = 60

// Values of the fields of probes.
var (
	periods = []weighted[span]{
		{12, span{1, 1}}, {12, span{2, 2}}, {8, span{3, 3}}, {16, span{5, 5}},
		{18, span{10, 10}}, {28, span{1, 20}}, {4, span{30, 30}}, {2, span{60, 3600}},
	}
	timeouts          = []weighted[span]{{30, span{1, 1}}, {40, span{2, 5}}, {20, span{6, 10}}, {10, span{11, 30}}}
	initialDelays     = []weighted[span]{{60, span{1, 10}}, {25, span{11, 30}}, {15, span{31, 60}}}
	failureThresholds = []weighted[span]{{35, span{1, 1}}, {55, span{2, 5}}, {10, span{100, 100}}}
	startupThresholds = []weighted[span]{
		{40, span{1, 5}}, {40, span{6, 30}},
		{15, span{60, 60}}, {5, span{100, 100}},
	}
	successThresholds = []weighted[span]{{40, span{2, 2}}, {60, span{1, 4}}}
	probeGraces       = []weighted[span]{{60, span{1, 5}}, {30, span{6, 40}}, {10, span{300, 300}}}
)

const (
	defaultPeriod  = 10
	defaultTimeout = 1
)

// probe adds a probe to the container and returns its manifest.
func (g *generator) probe(c *container, key string) tree {
	p := &probe{key: key, handler: pick(&g.rng, handlers)}
	p.action = g.action(c, p.handler)
	n := block(p.handler, p.action, "initialDelaySeconds", g.maybeNumber(45, initialDelays))
	period, timeout := defaultPeriod, defaultTimeout
	if g.percent(70) {
		period = g.number(periods)
		if g.options.Rollouts {
			// workers of longer periods than the age of the kubelet start at random times
			period = min(period, mostSeconds)
		}
		put(n, "periodSeconds", period)
	}
	if g.percent(55) {
		timeout = g.timeout(period)
		put(n, "timeoutSeconds", timeout)
	}
	if key == "startup" {
		put(n, "failureThreshold", g.maybeNumber(75, startupThresholds))
	} else {
		put(n, "failureThreshold", g.maybeNumber(60, failureThresholds))
	}
	if key == "readiness" {
		put(n, "successThreshold", g.maybeNumber(35, successThresholds))
	} else {
		put(n, "successThreshold", g.maybeNumber(5, []weighted[span]{{1, span{1, 1}}}))
		put(n, "terminationGracePeriodSeconds", g.maybeNumber(15, probeGraces))
	}
	p.timeout = time.Duration(timeout) * time.Second
	c.probes = append(c.probes, p)
	return n
}

func (g *generator) timeout(period int) int {
	if g.percent(g.temper.odd) {
		return min(period, 60) + g.between(0, 10) // the period or more
	}
	return g.number(timeouts)
}

// commands returns possible commands for probes and hooks. The kubelet expands $(NAME) from the env
// of the container.
func (g *generator) commands(c *container) [][]string {
	commands := [][]string{{"cat", "/tmp/healthy"}, {"sh", "-c", "test -e /tmp/ready && echo up"}}
	if has(c.spec, "env") {
		commands = append(commands,
			[]string{"check", "--port=$(PORT)", "$(FILE)"},
			[]string{"sh", "-c", "test -e $(DIR)/$(PORT)"},
			[]string{"echo", "$$(PORT) $(NOWHERE) $(DIR) $HOME $"})
	}
	return commands
}
