package draft

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/value"
	"probesim.dev/kube/podutil"
	"probesim.dev/scenarios/program"
)

// Typical times of programs, as a starting point.
const (
	usualStart = 10 * time.Second // from the start of a server to its first answer
	usualInit  = 3 * time.Second  // duration of an init container
	usualWork  = 30 * time.Second // duration of a job
	usualEnd   = 2 * time.Second  // from the stop signal to the exit
)

// behavior returns the lines of the behavior of a container: rules and comments.
func behavior(pod *v1.Pod, c *v1.Container, init bool) []string {
	if init && !podutil.IsRestartableInitContainer(c) {
		return []string{
			"# It finishes after " + value.Format(usualInit) + ".",
			fmt.Sprintf("- {after: %s, exit: 0}", value.Format(usualInit)),
			try("{instance: 0, after: 1s, exit: 1}", "The first run fails."),
		}
	}
	var lines []string
	add := func(more ...string) { lines = append(lines, more...) }
	probes := probes(c)
	if usual := usualAnswers(c); usual != "" {
		add("# Its answers, and how long each takes.", "- {"+usual+"}")
	}
	if len(probes) > 0 {
		add(starting(c, probes)...)
	}
	if endsByItself(pod, c, init) {
		add("# It finishes after "+value.Format(usualWork)+".", fmt.Sprintf("- {after: %s, exit: 0}", value.Format(usualWork)))
	}
	add("# It exits "+value.Format(usualEnd)+" after the stop signal.", fmt.Sprintf("- {afterSigterm: %s, exit: 0}", value.Format(usualEnd)))
	return append(lines, troubles(c, probes)...)
}

// probe is a probe of a container, with its key in rules.
type probe struct {
	key string
	*v1.Probe
}

func probes(c *v1.Container) []probe {
	var list []probe
	for _, p := range []probe{{"startup", c.StartupProbe}, {"liveness", c.LivenessProbe}, {"readiness", c.ReadinessProbe}} {
		if p.Probe != nil {
			list = append(list, p)
		}
	}
	return list
}

// usualAnswers returns the keys of a rule for all probes and hooks, with the answers of a healthy program.
func usualAnswers(c *v1.Container) string {
	var keys, shared []string
	for _, asks := range requests(c) {
		switch e := endpointOf(c, asks.key); {
		case !isShared(e):
			keys = append(keys, asks.key+": "+asks.answer())
		case e.Keys[0] == asks.key:
			shared = append(shared, e.InFlow()+": "+healthyAnswer(asks.handler))
		}
	}
	if len(shared) > 0 {
		keys = append(keys, "endpoints: {"+strings.Join(shared, ", ")+"}")
	}
	return strings.Join(keys, ", ")
}

// request is a probe or hook that asks the program.
type request struct {
	key     string
	handler *v1.ProbeHandler
}

// answer returns the answer of a healthy program. The command of a hook can sleep.
func (r *request) answer() string {
	isHook := r.key == "postStart" || r.key == "preStop"
	if isHook && r.handler.Exec != nil {
		if slept, _ := program.SleepOf(r.handler.Exec.Command); slept > 0 {
			return "0 in " + value.Format(slept)
		}
	}
	return healthyAnswer(r.handler)
}

// requests returns the probes and hooks that ask the program.
func requests(c *v1.Container) []request {
	var list []request
	for _, p := range probes(c) {
		list = append(list, request{p.key, &p.ProbeHandler})
	}
	if c.Lifecycle == nil {
		return list
	}
	for _, h := range []struct {
		key  string
		hook *v1.LifecycleHandler
	}{{"postStart", c.Lifecycle.PostStart}, {"preStop", c.Lifecycle.PreStop}} {
		if h.hook != nil && (h.hook.Exec != nil || h.hook.HTTPGet != nil) {
			list = append(list, request{h.key, &v1.ProbeHandler{Exec: h.hook.Exec, HTTPGet: h.hook.HTTPGet}})
		}
	}
	return list
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

// isShared reports whether a draft has one answer for an endpoint instead of one for each probe: several probes ask there,
// and its text is short.
func isShared(e program.Endpoint) bool {
	const longest = 80
	probes := 0
	for _, key := range e.Keys {
		if key != "postStart" && key != "preStop" {
			probes++
		}
	}
	return probes > 1 && len(e.Text) <= longest
}

// healthyAnswer returns the answer of a healthy program to a handler. The times are the default delays.
func healthyAnswer(h *v1.ProbeHandler) string {
	switch {
	case h.Exec != nil:
		return "0 in 20ms"
	case h.HTTPGet != nil:
		return "200 in 9ms"
	case h.GRPC != nil:
		return "SERVING in 11ms"
	}
	return "ok in 2ms"
}

// failingAnswer returns the answer to a handler of a program that cannot work at the moment.
func failingAnswer(h *v1.ProbeHandler) string {
	switch {
	case h.Exec != nil:
		return "1"
	case h.HTTPGet != nil:
		return "503"
	case h.GRPC != nil:
		return "NOT_SERVING"
	}
	return "down"
}

// starting returns the rule of a program during its start. The start is short enough that no failed probe kills the
// program.
func starting(c *v1.Container, probes []probe) []string {
	up := usualStart
	if limit, limited := patience(c); limited {
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
				fmt.Sprintf("- {for: %s, probes: down}", value.Format(up)),
			}
		}
	}
	return []string{
		"# It starts in " + value.Format(up) + ". Until then its probes fail.",
		fmt.Sprintf("- {for: %s, probes: fail}", value.Format(up)),
	}
}

// patience returns the minimum time for which the kubelet keeps a container whose program does not answer. It returns
// false if no probe kills the container.
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
func troubles(c *v1.Container, probes []probe) []string {
	crash := try("{instance: 0, after: 1m, exit: 1}", "It crashes once.")
	if len(probes) == 0 {
		return []string{crash}
	}
	lines := []string{try("{after: 1m, for: 40s, probes: stall}", "It freezes, as in a long GC pause.")}
	if last := probes[len(probes)-1]; last.key == "readiness" {
		key := "readiness: " + failingAnswer(&last.ProbeHandler)
		if e := endpointOf(c, last.key); isShared(e) {
			key = "endpoints: {" + e.InFlow() + ": " + failingAnswer(&last.ProbeHandler) + "}"
		}
		rule := fmt.Sprintf("{at: 3m, for: 30s, %s}", key)
		lines = append(lines, try(rule, "A dependency is down."))
	}
	return append(lines, crash)
}

// try returns an item to try, as a comment, and its explanation.
func try(item, says string) string { return fmt.Sprintf("# - %-43s # %s", item, says) }
