package draft

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// Typical times of programs, as a starting point.
const (
	usualStart = 10 * time.Second // from the start of a server to its first answer
	usualInit  = 3 * time.Second  // duration of an init container
	usualWork  = 30 * time.Second // duration of a job
	usualEnd   = 2 * time.Second  // from the stop signal to the exit
)

// behavior returns the lines of the behavior of a container: rules and comments.
func behavior(pod *v1.Pod, c *v1.Container, init bool, known time.Duration) []string {
	if init && !podutil.IsRestartableInitContainer(c) {
		return []string{
			"# It finishes after " + value.Format(usualInit) + ".",
			item(format.RuleText{After: value.Format(usualInit), Exit: "0"}),
			try(format.RuleText{Instance: "0", After: "1s", Exit: "1"}, "The first run fails."),
		}
	}
	var lines []string
	add := func(more ...string) { lines = append(lines, more...) }
	probes := podutil.Probes(c)
	if asks := podutil.Requests(c); len(asks) > 0 {
		add("# Its answers, and how long each takes.", item(usualAnswers(c, asks)))
	}
	if len(probes) > 0 {
		add(starting(c, probes, known)...)
	}
	if endsByItself(pod, c, init) {
		add("# It finishes after "+value.Format(usualWork)+".",
			item(format.RuleText{After: value.Format(usualWork), Exit: "0"}))
	}
	add("# It exits "+value.Format(usualEnd)+" after the stop signal.",
		item(format.RuleText{AfterSigterm: value.Format(usualEnd), Exit: "0"}))
	return append(lines, troubles(c, probes)...)
}

// usualAnswers returns a rule for all probes and hooks, with the answers of a healthy program.
func usualAnswers(c *v1.Container, all []podutil.Request) format.RuleText {
	r := format.RuleText{Endpoints: map[string]string{}}
	for _, asks := range all {
		if e := endpointOf(c, asks.Key); isShared(e) {
			r.Endpoints[e.Text] = program.HandlerOf(asks.ProbeHandler).Healthy
		} else {
			r.Answer(asks.Key, healthyAnswer(asks))
		}
	}
	return r
}

// healthyAnswer returns the answer of a healthy program. The command of a hook can sleep.
func healthyAnswer(asks podutil.Request) string {
	if asks.IsHook && asks.Exec != nil {
		if slept, _ := program.SleepOf(asks.Exec.Command); slept > 0 {
			return "0 in " + value.Format(slept)
		}
	}
	return program.HandlerOf(asks.ProbeHandler).Healthy
}

// endpointOf returns the endpoint at which a probe or hook asks.
func endpointOf(c *v1.Container, key string) program.Endpoint {
	for _, e := range program.Endpoints(c) {
		if slices.Contains(e.Keys, key) {
			return e
		}
	}
	return program.Endpoint{}
}

// isShared reports whether a draft has one answer for an endpoint instead of one for each probe:
// several probes ask there, and its text is short.
func isShared(e program.Endpoint) bool {
	const longest = 80
	probes := 0
	for _, key := range e.Keys {
		if !slices.Contains(podutil.HookKeys, key) {
			probes++
		}
	}
	return probes > 1 && len(e.Text) <= longest
}

// starting returns the rule of a program during its start. The start is short enough that no failed
// probe kills the program, unless it is known how long it takes.
func starting(c *v1.Container, probes []podutil.Probe, known time.Duration) []string {
	up := cmp.Or(known, usualStart)
	if limit, limited := patience(c); limited && known == 0 {
		up = min(up, (limit / 2).Truncate(100*time.Millisecond))
	}
	if up == 0 {
		return []string{
			"# It answers immediately: a single failed probe would kill it.",
			"# - {for: 2s, probes: down}",
		}
	}
	for _, p := range probes {
		if p.Exec == nil {
			return []string{
				"# It starts in " + value.Format(up) + ". Until then nothing listens.",
				item(format.RuleText{For: value.Format(up), Probes: value.Down}),
			}
		}
	}
	return []string{
		"# It starts in " + value.Format(up) + ". Until then its probes fail.",
		item(format.RuleText{For: value.Format(up), Probes: value.Fail}),
	}
}

// patience returns the minimum time for which the kubelet keeps a container whose program does not
// answer. It returns false if no probe kills the container.
func patience(c *v1.Container) (time.Duration, bool) {
	p := c.StartupProbe
	if p == nil {
		p = c.LivenessProbe
	}
	if p == nil {
		return 0, false
	}
	seconds := int64(p.InitialDelaySeconds) + int64(p.PeriodSeconds)*int64(p.FailureThreshold-1)
	return time.Duration(min(seconds, 3600)) * time.Second, true // an hour is longer than any start in a draft
}

// endsByItself reports whether a container is expected to finish, by its restart policy.
func endsByItself(pod *v1.Pod, c *v1.Container, init bool) bool {
	if c.RestartPolicy != nil {
		return !init && *c.RestartPolicy != v1.ContainerRestartPolicyAlways
	}
	return !init && pod.Spec.RestartPolicy != v1.RestartPolicyAlways
}

// troubles returns rules to try, as comments.
func troubles(c *v1.Container, probes []podutil.Probe) []string {
	crash := try(format.RuleText{Instance: "0", After: "1m", Exit: "1"}, "It crashes once.")
	if len(probes) == 0 {
		return []string{crash}
	}
	lines := []string{try(format.RuleText{After: "1m", For: "40s", Probes: value.Stall},
		"It freezes, as in a long GC pause.")}
	if readiness := c.ReadinessProbe; readiness != nil {
		r, failing := format.RuleText{At: "3m", For: "30s"}, program.HandlerOf(&readiness.ProbeHandler).Failing
		if e := endpointOf(c, "readiness"); isShared(e) {
			r.Endpoints = map[string]string{e.Text: failing}
		} else {
			r.Readiness = failing
		}
		lines = append(lines, try(r, "A dependency is down."))
	}
	return append(lines, crash)
}

func item(r format.RuleText) string { return "- " + r.String() }

// try returns an item to try, as a comment, and its explanation.
func try(r format.RuleText, says string) string { return fmt.Sprintf("# - %-43s # %s", r, says) }
