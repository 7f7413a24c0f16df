package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/input"
	"probesim.dev/internal/long"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// program is a random container whose starts are known.
type program struct {
	yaml, rules string
	starts      []time.Duration // by instance; the last one is that of all later ones
	width       time.Duration   // of the range of a start at most, without the latencies of the node
}

// randomProgram draws the probes and the starts of a container. Some instances exit, some starts
// are too long for the probes.
func randomProgram(r *rand.Rand, name string) program {
	between := func(a, b int) int { return a + r.IntN(b-a+1) }
	var p program
	probe := func(of string, mostFailures int) {
		period, timeout := between(1, 15), between(1, 5)
		delay := 0
		if r.IntN(3) == 0 {
			delay = between(1, 20)
		}
		successes := 1
		if of == "readinessProbe" && r.IntN(4) == 0 {
			successes = between(2, 3)
		}
		if of != "livenessProbe" {
			// nobody looks in the delay, and syncs lead to runs between the ticks
			p.width += time.Duration(delay+successes*(period+timeout)) * time.Second
		}
		handler := []string{"httpGet: {port: 80}", "tcpSocket: {port: 80}", "exec: {command: [ok]}",
			"grpc: {port: 80}"}[r.IntN(4)]
		p.yaml += fmt.Sprintf(", %s: {%s, initialDelaySeconds: %d, periodSeconds: %d, timeoutSeconds: %d, "+
			"failureThreshold: %d, successThreshold: %d}", of, handler, delay, period, timeout,
			between(1, mostFailures), successes)
	}
	startup, readiness := r.IntN(2) == 0, r.IntN(3) > 0
	if !startup && !readiness {
		readiness = true
	}
	if readiness {
		probe("readinessProbe", 3)
	}
	if startup {
		probe("startupProbe", 30)
	}
	if r.IntN(2) == 0 {
		probe("livenessProbe", 10)
	}
	p.width += 2 * time.Second
	var rules []string
	for i := range between(1, 3) {
		start := time.Duration(1+r.IntN(60_000)) * time.Millisecond
		if r.IntN(5) == 0 {
			start = time.Millisecond
		}
		p.starts = append(p.starts, start)
		rules = append(rules, fmt.Sprintf("{instance: %d, for: %s, probes: down}", i, start))
		rules = append(rules, fmt.Sprintf("{instance: %d, after: %s, exit: %d}", i,
			start+time.Duration(1+r.IntN(90_000))*time.Millisecond, r.IntN(2)))
	}
	last := time.Duration(1+r.IntN(60_000)) * time.Millisecond
	p.starts = append(p.starts, last)
	rules = append(rules, fmt.Sprintf("{instance: %d.., for: %s, probes: down}", len(p.starts)-1, last))
	p.yaml = fmt.Sprintf("{name: %s, image: \"web:1\"%s}", name, p.yaml)
	p.rules = fmt.Sprintf("{name: %s, behavior: [%s]}", name, strings.Join(rules, ", "))
	return p
}

// TestMeasure checks that the range that measure tells of each start contains how long it took, and
// how wide it is.
func TestMeasure(t *testing.T) {
	starts, measured, exact := 0, 0, 0
	var widest time.Duration
	for seed := range uint64(long.Sample(200, 20000)) {
		r := rand.New(rand.NewPCG(seed, 43))
		version := profile.Names()[r.IntN(len(profile.Names()))]
		programs := map[string]program{"app": randomProgram(r, "app")}
		if r.IntN(4) == 0 {
			programs["side"] = randomProgram(r, "side")
		}
		var specs, rules []string
		for _, name := range []string{"app", "side"} {
			if p, has := programs[name]; has {
				specs, rules = append(specs, p.yaml), append(rules, p.rules)
			}
		}
		text := fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [%s]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: %ds
  kubernetesVersions: [%s]
  seeds: %d
  delays: {set: typical}
  pods: [{name: web, at: %dms, containers: [%s]}]
`, strings.Join(specs, ", "), 120+r.IntN(300), version, seed+1, r.IntN(3000), strings.Join(rules, ", "))
		plan := load(t, []byte(text))
		run := simulate.Run(context.Background(), plan, simulate.Options{})
		data := (&printer{cluster: record([]*v1.Pod{plan.Pods()[0].Pod}, run.Records, run.End, newest),
			release: newest}).objects()
		rec := incident.Read([]input.File{{Name: "cluster.json", Data: []byte(data)}})
		typical, _ := fakeruntime.DelaySet("typical")
		report := measure.Of(rec, measure.Options{Delays: typical})
		for name, p := range programs {
			for i := range run.Records {
				if x := &run.Records[i]; x.Kind == trace.ContainerStarted && x.Container == name {
					starts++
				}
			}
			for _, c := range report.Workloads[0].Containers {
				if c.Name != name {
					continue
				}
				for _, s := range c.Starts {
					took := p.starts[min(s.Instance, len(p.starts)-1)]
					measured++
					if took < time.Duration(s.Took.Min) || took > time.Duration(s.Took.Max) {
						t.Errorf("seed %d, %s: instance %d of %s takes %s to start, and measure says %v to %v\n%s",
							seed, version, s.Instance, name, took, time.Duration(s.Took.Min),
							time.Duration(s.Took.Max), text)
					}
					if width := time.Duration(s.Took.Max-s.Took.Min) - p.width; len(programs) == 1 {
						exact++
						if width > widest {
							widest = width
							t.Logf("seed %d: %s wider: %s in %v..%v\n%s", seed, width, took,
								time.Duration(s.Took.Min), time.Duration(s.Took.Max), p.yaml)
						}
					}
				}
			}
		}
	}
	t.Logf("%d of %d starts are measured, %d of them in pods of one container; the widest range is %s wider than its "+
		"period, timeout and 2s", measured, starts, exact, widest)
}
