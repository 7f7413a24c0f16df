package random

import (
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios"
	"probesim.dev/sim/trace"
)

// facts are what a scenario has.
type facts struct {
	text     string
	scenario *scenarios.Scenario
	pods     []scenarios.PlannedPod
}

func (f *facts) matches(pattern string) bool { return regexp.MustCompile(pattern).MatchString(f.text) }

func (f *facts) anyContainer(has func(*v1.Container) bool) bool {
	for _, p := range f.pods {
		for i := range p.Pod.Spec.Containers {
			if has(&p.Pod.Spec.Containers[i]) {
				return true
			}
		}
	}
	return false
}

func (f *facts) anyProbe(has func(*v1.Probe) bool) bool {
	return f.anyContainer(func(c *v1.Container) bool {
		for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p != nil && has(p) {
				return true
			}
		}
		return false
	})
}

func (f *facts) anyRule(has func(*fakeruntime.Rule) bool) bool {
	for _, p := range f.pods {
		for _, c := range p.Program.Containers {
			for i := range c.Program.Rules {
				if has(&c.Program.Rules[i]) {
					return true
				}
			}
		}
	}
	return false
}

func (f *facts) anyAnswer(has func(*fakeruntime.Answer) bool) bool {
	return f.anyRule(func(r *fakeruntime.Rule) bool {
		for _, s := range []*fakeruntime.Series{r.Liveness, r.Readiness, r.Startup, r.Probes} {
			if s == nil {
				continue
			}
			for i := range s.Items {
				if has(&s.Items[i].Answer) {
					return true
				}
			}
		}
		return false
	})
}

// probes returns which probes a container has.
func probes(c *v1.Container) string {
	has := ""
	for i, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil {
			has += "LRS"[i : i+1]
		}
	}
	return has
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// features are what the scope of the generator names, each with how to find it in a scenario.
var features = map[string]func(*facts) bool{
	"four containers":        func(f *facts) bool { return len(f.pods[0].Pod.Spec.Containers) == 4 },
	"three pods":             func(f *facts) bool { return len(f.pods) == 3 },
	"a pod that comes later": func(f *facts) bool { return f.pods[len(f.pods)-1].At > 0 },
	"another namespace":      func(f *facts) bool { return f.pods[0].Pod.Namespace == "prod" },
	"an hour's period":       func(f *facts) bool { return f.anyProbe(func(p *v1.Probe) bool { return p.PeriodSeconds > 600 }) },
	"a period of 1s":         func(f *facts) bool { return f.anyProbe(func(p *v1.Probe) bool { return p.PeriodSeconds == 1 }) },
	"a timeout beyond the period": func(f *facts) bool {
		return f.anyProbe(func(p *v1.Probe) bool { return p.TimeoutSeconds > p.PeriodSeconds })
	},
	"a timeout like the period": func(f *facts) bool {
		return f.anyProbe(func(p *v1.Probe) bool { return p.TimeoutSeconds == p.PeriodSeconds })
	},
	"a long initial delay": func(f *facts) bool { return f.anyProbe(func(p *v1.Probe) bool { return p.InitialDelaySeconds > 30 }) },
	"failureThreshold 100": func(f *facts) bool { return f.anyProbe(func(p *v1.Probe) bool { return p.FailureThreshold == 100 }) },
	"successThreshold 4":   func(f *facts) bool { return f.anyProbe(func(p *v1.Probe) bool { return p.SuccessThreshold == 4 }) },
	"a probe's own grace period": func(f *facts) bool {
		return f.anyProbe(func(p *v1.Probe) bool { return p.TerminationGracePeriodSeconds != nil })
	},
	"an env reference": func(f *facts) bool { return f.matches(`command:.*\$\(`) },
	"imagePullPolicy Always": func(f *facts) bool {
		return f.anyContainer(func(c *v1.Container) bool { return c.ImagePullPolicy == v1.PullAlways })
	},
	"grace period 0":   func(f *facts) bool { return *f.pods[0].Pod.Spec.TerminationGracePeriodSeconds == 0 },
	"grace period 500": func(f *facts) bool { return *f.pods[0].Pod.Spec.TerminationGracePeriodSeconds == 500 },

	"after":            func(f *facts) bool { return f.matches(`\{after: `) },
	"at":               func(f *facts) bool { return f.matches(`- \{at: .*(probes|liveness|readiness|startup): `) },
	"afterSigterm":     func(f *facts) bool { return f.matches(`afterSigterm: .*(probes|liveness|readiness|startup): `) },
	"for":              func(f *facts) bool { return f.matches(`\bfor: `) },
	"every":            func(f *facts) bool { return f.matches(`\bevery: `) },
	"one instance":     func(f *facts) bool { return f.matches(`instance: \d,`) },
	"later instances":  func(f *facts) bool { return f.matches(`instance: \d\.\.,`) },
	"first instances":  func(f *facts) bool { return f.matches(`instance: \.\.\d,`) },
	"two probes apart": func(f *facts) bool { return f.matches(`(liveness|startup): (fail|down|hang), readiness:`) },

	"a series that repeats": func(f *facts) bool { return f.matches(`x\d.*, repeat\]`) },
	"a series that ends":    func(f *facts) bool { return f.matches(`x\d, [a-z0-9]+\]\}`) },
	"a code":                func(f *facts) bool { return f.matches(`(probes|liveness|readiness|startup): \d+\}`) },
	"fail":                  func(f *facts) bool { return f.matches(`: fail[,}]`) },
	"down":                  func(f *facts) bool { return f.matches(`: down[,}]`) },
	"hang":                  func(f *facts) bool { return f.matches(`: hang[,}]`) },
	"stall":                 func(f *facts) bool { return f.matches(`: stall[,}]`) },
	"error":                 func(f *facts) bool { return f.matches(`: error[,}]`) },
	"a latency that is the timeout": func(f *facts) bool {
		return f.anyProbe(func(p *v1.Probe) bool {
			return f.anyLatency(func(d time.Duration) bool { return d == seconds(p.TimeoutSeconds) })
		})
	},
	"a latency just above the timeout": func(f *facts) bool {
		return f.anyProbe(func(p *v1.Probe) bool {
			return f.anyLatency(func(d time.Duration) bool {
				return d > seconds(p.TimeoutSeconds) && d < seconds(p.TimeoutSeconds)+50*time.Millisecond
			})
		})
	},
	"a latency above 2 min": func(f *facts) bool { return f.anyLatency(func(d time.Duration) bool { return d > 2*time.Minute }) },
	"a body":                func(f *facts) bool { return f.anyAnswer(func(a *fakeruntime.Answer) bool { return a.Body != "" }) },
	"a body above 10 KiB": func(f *facts) bool {
		return f.anyAnswer(func(a *fakeruntime.Answer) bool { return len(a.Body) > 10<<10 })
	},
	"a body with several lines": func(f *facts) bool {
		return f.anyAnswer(func(a *fakeruntime.Answer) bool { return strings.Contains(a.Body, "\n") })
	},
	"ignoreTimeout": func(f *facts) bool { return f.anyAnswer(func(a *fakeruntime.Answer) bool { return a.IgnoreTimeout }) },

	"a crash loop":     func(f *facts) bool { return f.matches(`- \{after: \d+ms, exit: [1-9]`) },
	"one crash":        func(f *facts) bool { return f.matches(`\{instance: 0, after: [^,]*, exit: [1-9]`) },
	"a crash at":       func(f *facts) bool { return f.matches(`- \{at: [^,]*, exit: [1-9]`) },
	"an end":           func(f *facts) bool { return f.matches(`\{after: [^,]*, exit: 0\}`) },
	"a slow stop":      func(f *facts) bool { return f.matches(`afterSigterm: \d\ds, exit`) },
	"a refused stop":   func(f *facts) bool { return f.matches(`afterSigterm: 0s, exit: never`) },
	"a slow start":     func(f *facts) bool { return f.matches(`- \{for: [^,]*, `) },
	"a young kubelet":  func(f *facts) bool { return f.matches(`uptime: \d\.`) },
	"an old kubelet":   func(f *facts) bool { return f.matches(`uptime: 1h`) },
	"delays of a node": func(f *facts) bool { return f.scenario.Spec.Delays != nil },
	"delays of a pod":  func(f *facts) bool { return f.scenario.Spec.Pods[0].Delays != nil },
	"delays of a container": func(f *facts) bool {
		return f.matches(`\n {10}delays:`)
	},

	"a graceful deletion":                func(f *facts) bool { return f.matches(`- \{at: [^,]*, delete: \{(pod: [a-z]*)?\}\}`) },
	"a short deletion":                   func(f *facts) bool { return f.matches(`- \{at: [^,]*, delete: \{.*gracePeriodSeconds: [1-5]\}\}`) },
	"a forced deletion":                  func(f *facts) bool { return f.matches(`- \{at: [^,]*, delete: \{.*gracePeriodSeconds: 0\}\}`) },
	"two deletions":                      func(f *facts) bool { return len(f.scenario.Spec.Steps) == 2 && len(f.pods) == 1 },
	"a deletion since a record, at once": func(f *facts) bool { return f.matches(`since: .*record: .*\}, delete`) },
	"a deletion since a change":          func(f *facts) bool { return f.matches(`since: .*becomes: .*after: `) },

	"a time in whole seconds": func(f *facts) bool { return f.matches(`(at|after): \d+s`) },
	"a time in nanoseconds":   func(f *facts) bool { return f.matches(`(at|after): [\dm]*\d*\.\d{9}s`) },
}

// anyLatency looks at the latencies that are exact.
func (f *facts) anyLatency(has func(time.Duration) bool) bool {
	return f.anyAnswer(func(a *fakeruntime.Answer) bool {
		return a.Latency != nil && a.Latency.Min == a.Latency.Max && has(a.Latency.Min)
	})
}

// TestFeatures: in 500 scenarios each feature occurs, and so does each combination of probes with each
// restart policy.
func TestFeatures(t *testing.T) {
	count := map[string]int{}
	for seed := uint64(1); seed <= 500; seed++ {
		data := Scenario(seed)
		s := load(t, seed, data)
		f := &facts{text: string(data), scenario: s, pods: s.Plans()[0].Pods()}
		for name, has := range features {
			if has(f) {
				count[name]++
			}
		}
		for _, p := range f.pods {
			for i := range p.Pod.Spec.Containers {
				count[string(p.Pod.Spec.RestartPolicy)+" "+probes(&p.Pod.Spec.Containers[i])]++
			}
		}
		if len(s.Spec.Expect) > 0 || s.Spec.Seeds != nil || strings.Contains(f.text, "chance") {
			t.Errorf("seed %d: draws or expects something", seed)
		}
	}
	for name := range features {
		if count[name] == 0 {
			t.Errorf("no scenario has %s", name)
		}
	}
	for _, policy := range []string{"Always", "OnFailure", "Never"} {
		for _, has := range []string{"", "L", "R", "S", "LR", "LS", "RS", "LRS"} {
			if count[policy+" "+has] == 0 {
				t.Errorf("no container has the restart policy %s and the probes %q", policy, has)
			}
		}
	}
	t.Log(count)
}

// TestDraws: with seeds, scenarios have ranges and chances.
func TestDraws(t *testing.T) {
	count := map[string]int{}
	for seed := uint64(1); seed <= 100; seed++ {
		text := string(Options{Seeds: 4}.Scenario(seed))
		for _, pattern := range []string{`seeds: 1\.\.4\n`, `chance: \d+%`, `(after|at): \S+s\.\.\S+s`, `in \S+s\.\.\S+s`, `every: \S+s\.\.\S+s`, `uptime: \S+s\.\.`} {
			if regexp.MustCompile(pattern).MatchString(text) {
				count[pattern]++
			} else {
				count[pattern] += 0
			}
		}
	}
	for pattern, n := range count {
		if n == 0 {
			t.Errorf("no scenario has %s", pattern)
		}
	}
}

// occurrences are what runs must come to.
var occurrences = map[string]func(*trace.Record) bool{
	"a liveness kill":            func(r *trace.Record) bool { return r.Kind == trace.ContainerStopping && r.Reason == "LivenessProbe" },
	"a startup kill":             func(r *trace.Record) bool { return r.Kind == trace.ContainerStopping && r.Reason == "StartupProbe" },
	"a stop for a deletion":      func(r *trace.Record) bool { return r.Kind == trace.ContainerStopping && r.Reason == "Deleted" },
	"a container that is killed": func(r *trace.Record) bool { return r.Kind == trace.ContainerExited && r.ExitCode == 137 },
	"a fourth restart":           func(r *trace.Record) bool { return r.Kind == trace.ContainerStarted && r.Instance == 4 },
	"a back-off":                 func(r *trace.Record) bool { return r.Kind == trace.Event && r.Reason == "BackOff" },
	"a pull":                     func(r *trace.Record) bool { return r.Kind == trace.Event && r.Reason == "Pulling" },
	"a probe that breaks":        func(r *trace.Record) bool { return r.Kind == trace.ProbeExecuted && r.Result == trace.Error },
	"a timeout": func(r *trace.Record) bool {
		return r.Kind == trace.ProbeExecuted && strings.Contains(r.Message, "timed out")
	},
	"a late timeout": func(r *trace.Record) bool { return r.Kind == trace.ProbeExecuted && r.Took > 2*time.Minute },
	"a success above 1s": func(r *trace.Record) bool {
		return r.Kind == trace.ProbeExecuted && r.Result == trace.Success && r.Took > time.Second
	},
	"a pod that is removed": func(r *trace.Record) bool { return r.Kind == trace.PodRemoved },
	"a pod that succeeds":   func(r *trace.Record) bool { return r.Kind == trace.StatusPatched && r.Status.Phase == "Succeeded" },
	"a pod that fails":      func(r *trace.Record) bool { return r.Kind == trace.StatusPatched && r.Status.Phase == "Failed" },
	"a pod that is ready":   func(r *trace.Record) bool { return r.Kind == trace.StatusPatched && r.Status.Ready },
	"a not yet ready restart": func(r *trace.Record) bool {
		return r.Kind == trace.StatusPatched && !r.Status.Ready && r.Status.Containers[0].RestartCount > 0
	},
}

// TestOccurrences: in the runs of 300 scenarios each of them comes up, and in no run nothing.
func TestOccurrences(t *testing.T) {
	count := map[string]int{}
	for seed := uint64(1); seed <= 300; seed++ {
		seen := map[string]bool{}
		for _, r := range run(t, seed, load(t, seed, Scenario(seed))) {
			for name, is := range occurrences {
				seen[name] = seen[name] || is(&r)
			}
		}
		for name, yes := range seen {
			if yes {
				count[name]++
			}
		}
	}
	for name := range occurrences {
		if count[name] == 0 {
			t.Errorf("no run has %s", name)
		}
	}
	t.Log(count)
}
