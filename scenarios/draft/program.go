package draft

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/value"
	"probesim.dev/kube/podutil"
)

// Times that are usual enough to begin with.
const (
	usualStart = 10 * time.Second // until a server answers
	usualInit  = 3 * time.Second  // that an init container takes
	usualWork  = 30 * time.Second // that a job takes
	usualEnd   = 2 * time.Second  // from the stop signal to the end
)

// behavior returns the lines below the behavior of a container: rules, and comments.
func behavior(pod *v1.Pod, c *v1.Container, init bool) []string {
	if init && !podutil.IsRestartableInitContainer(c) {
		return []string{
			"# It has done its work after " + value.Format(usualInit) + ".",
			fmt.Sprintf("- {after: %s, exit: 0}", value.Format(usualInit)),
			try("{instance: 0, after: 1s, exit: 1}", "The first time it fails."),
		}
	}
	var lines []string
	add := func(more ...string) { lines = append(lines, more...) }
	probes := probes(c)
	if usual := usualAnswers(probes, c.Lifecycle); usual != "" {
		add("# What it answers, and how long that takes.", "- {"+usual+"}")
	}
	if len(probes) > 0 {
		add(starting(c, probes)...)
	}
	if endsByItself(pod, c, init) {
		add("# It has done its work after "+value.Format(usualWork)+".", fmt.Sprintf("- {after: %s, exit: 0}", value.Format(usualWork)))
	}
	add("# It ends "+value.Format(usualEnd)+" after the stop signal.", fmt.Sprintf("- {afterSigterm: %s, exit: 0}", value.Format(usualEnd)))
	return append(lines, troubles(probes)...)
}

// probe is a probe of a container by the name that it has in rules.
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

// usualAnswers are the keys of a rule for all probes and hooks, with the answers of a program that is well.
func usualAnswers(probes []probe, hooks *v1.Lifecycle) string {
	var keys []string
	for _, p := range probes {
		keys = append(keys, p.key+": "+wellAnswer(&p.ProbeHandler))
	}
	if hooks != nil {
		for _, h := range []struct {
			key  string
			hook *v1.LifecycleHandler
		}{{"postStart", hooks.PostStart}, {"preStop", hooks.PreStop}} {
			if h.hook != nil && (h.hook.Exec != nil || h.hook.HTTPGet != nil) {
				keys = append(keys, h.key+": "+wellAnswer(&v1.ProbeHandler{Exec: h.hook.Exec, HTTPGet: h.hook.HTTPGet}))
			}
		}
	}
	return strings.Join(keys, ", ")
}

// wellAnswer is how a program that is well answers a handler. The times are those that are taken without.
func wellAnswer(h *v1.ProbeHandler) string {
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

// illAnswer is how one answers that cannot do its work just now.
func illAnswer(h *v1.ProbeHandler) string {
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

// starting is what a program does until it is up, which it is before a probe has it killed.
func starting(c *v1.Container, probes []probe) []string {
	up := usualStart
	if limit, limited := patience(c); limited {
		up = min(up, (limit / 2).Truncate(100*time.Millisecond))
	}
	if up == 0 {
		return []string{
			"# It answers at once: one failed probe would be enough to have it killed.",
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

// patience is how long a program that does not answer lives at least, if there is an end to it.
func patience(c *v1.Container) (time.Duration, bool) {
	p := c.StartupProbe
	if p == nil {
		p = c.LivenessProbe
	}
	if p == nil {
		return 0, false
	}
	seconds := int64(p.InitialDelaySeconds) + int64(p.PeriodSeconds)*int64(p.FailureThreshold-1)
	return time.Duration(min(seconds, 3600)) * time.Second, true // longer than any start here
}

// endsByItself reports whether a container is of a pod that has an end.
func endsByItself(pod *v1.Pod, c *v1.Container, init bool) bool {
	if c.RestartPolicy != nil {
		return !init && *c.RestartPolicy != v1.ContainerRestartPolicyAlways
	}
	return !init && pod.Spec.RestartPolicy != v1.RestartPolicyAlways
}

// troubles are rules to try, as comments.
func troubles(probes []probe) []string {
	crash := try("{instance: 0, after: 1m, exit: 1}", "It crashes once.")
	if len(probes) == 0 {
		return []string{crash}
	}
	lines := []string{try("{after: 1m, for: 40s, probes: stall}", "It is frozen for a while: a long GC, say.")}
	if last := probes[len(probes)-1]; last.key == "readiness" {
		rule := fmt.Sprintf("{at: 3m, for: 30s, readiness: %s}", illAnswer(&last.ProbeHandler))
		lines = append(lines, try(rule, "What it depends on is away."))
	}
	return append(lines, crash)
}

// try returns an item as a comment, to be tried, and what it says.
func try(item, says string) string { return fmt.Sprintf("# - %-43s # %s", item, says) }
