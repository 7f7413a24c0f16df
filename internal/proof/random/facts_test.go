package random

import (
	"regexp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
)

// facts are the parts of a scenario that features look at.
type facts struct {
	text     string
	scenario *scenarios.Scenario
	pods     []plan.PlannedPod
}

// feature reports whether a scenario has a feature.
type feature func(*facts) bool

// matches returns the feature that the file matches an RE2 expression.
func matches(pattern string) feature {
	re := regexp.MustCompile(pattern)
	return func(f *facts) bool { return re.MatchString(f.text) }
}

// firstPod returns a feature of the first pod.
func firstPod(has func(*v1.Pod) bool) feature {
	return func(f *facts) bool { return has(f.pods[0].Pod) }
}

func anyContainer(has func(*v1.Container) bool) feature {
	return func(f *facts) bool {
		for _, p := range f.pods {
			if slices.ContainsFunc(allContainers(p.Pod), has) {
				return true
			}
		}
		return false
	}
}

func allContainers(p *v1.Pod) []*v1.Container {
	var all []*v1.Container
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// anyInit returns a feature of any regular init container or of any sidecar.
func anyInit(sidecars bool, has func(*facts, string) bool) feature {
	return func(f *facts) bool {
		for _, p := range f.pods {
			for _, c := range p.Pod.Spec.InitContainers {
				if (c.RestartPolicy != nil) == sidecars && has(f, c.Name) {
					return true
				}
			}
		}
		return false
	}
}

// does reports whether the program of a container has a rule.
func does(has func(*fakeruntime.Rule) bool) func(*facts, string) bool {
	return func(f *facts, name string) bool {
		for _, p := range f.pods {
			rules := p.Program.Containers[name].Program.Rules
			if slices.ContainsFunc(rules, func(r fakeruntime.Rule) bool { return has(&r) }) {
				return true
			}
		}
		return false
	}
}

func anyProbe(has func(*v1.Probe) bool) feature {
	return anyContainer(func(c *v1.Container) bool {
		for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p != nil && has(p) {
				return true
			}
		}
		return false
	})
}

func anyAnswer(has func(*fakeruntime.Answer) bool) feature {
	return func(f *facts) bool {
		for _, p := range f.pods {
			for _, c := range p.Program.Containers {
				for _, r := range c.Program.Rules {
					if answers(&r, has) {
						return true
					}
				}
			}
		}
		return false
	}
}

func answers(r *fakeruntime.Rule, has func(*fakeruntime.Answer) bool) bool {
	for _, s := range []*fakeruntime.Series{r.Liveness, r.Readiness, r.Startup, r.Probes} {
		for i := 0; s != nil && i < len(s.Items); i++ {
			if has(&s.Items[i].Answer) {
				return true
			}
		}
	}
	return false
}

// latency returns a feature of the latency of any answer.
func latency(has func(time.Duration) bool) feature {
	return anyAnswer(func(a *fakeruntime.Answer) bool { return a.Latency != nil && has(a.Latency.Min) })
}

// besideTimeout returns the feature that the latency of an answer minus the timeout of a probe is
// from lo to hi.
func besideTimeout(lo, hi time.Duration) feature {
	return func(f *facts) bool {
		return anyProbe(func(p *v1.Probe) bool {
			timeout := time.Duration(p.TimeoutSeconds) * time.Second
			return latency(func(d time.Duration) bool { return d >= timeout+lo && d <= timeout+hi })(f)
		})(f)
	}
}

// probesOf returns the probes of a container, as letters.
func probesOf(c *v1.Container) string {
	has := ""
	for i, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil {
			has += "LRS"[i : i+1]
		}
	}
	return has
}

// handlerCount returns the number of distinct handlers of the probes of a container.
func handlerCount(c *v1.Container) int {
	kinds := map[string]bool{}
	for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		switch {
		case p == nil:
		case p.Exec != nil:
			kinds["exec"] = true
		case p.HTTPGet != nil:
			kinds["httpGet"] = true
		case p.TCPSocket != nil:
			kinds["tcpSocket"] = true
		case p.GRPC != nil:
			kinds["grpc"] = true
		}
	}
	return len(kinds)
}
