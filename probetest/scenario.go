package probetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/simulate"
)

// ScenarioOptions say how a scenario is run. The zero value is its first run.
type ScenarioOptions struct {
	Kubernetes string // a version that profile.Names lists; empty: the first of the scenario
	Seed       *int64 // nil: the first seed of the scenario, or none if it has none
}

// Scenario is a run of a scenario that was made.
type Scenario struct {
	pods []*Pod
}

// RunScenario makes one run of the scenario of that name in a file, or below a folder, so that a test can assert more about
// its pods than the file expects. The expectations of the file are not looked at.
//
//	run := RunScenario("scenarios/rollout.yaml", "cold-start", ScenarioOptions{})
//	Expect(run.Pod("shop-1")).To(HaveBecomeReady().Within(time.Minute))
func RunScenario(path, name string, o ScenarioOptions) *Scenario {
	all, err := scenarios.Load(path)
	if err != nil {
		fail(0, "nothing was run\n%s", err)
		return nil
	}
	var names []string
	for _, s := range all {
		if s.Metadata.Name == name {
			run, err := o.run(s)
			if err != nil {
				fail(0, "%s", err)
			}
			return run
		}
		names = append(names, s.Metadata.Name)
	}
	fail(0, "there is no scenario %q in %s; there are: %s", name, path, strings.Join(names, ", "))
	return nil
}

func (o ScenarioOptions) run(s *scenarios.Scenario) (*Scenario, error) {
	plan := s.Plans()[0]
	if o.Kubernetes != "" || o.Seed != nil {
		version, seed := plan.Version, plan.Seed
		if o.Kubernetes != "" {
			version = o.Kubernetes
		}
		if o.Seed != nil {
			seed = o.Seed
		}
		if !slices.Contains(profile.Names(), version) {
			return nil, unknownVersion(version)
		}
		plan = s.Plan(version, seed)
	}
	r := simulate.Run(context.Background(), plan, simulate.Options{Internal: true})
	l := &log{kubernetes: plan.Version, seed: plan.Seed, again: simulate.Command(plan), internal: true, end: r.End}
	for i := range r.Records {
		l.add(&r.Records[i])
	}
	run := &Scenario{}
	for _, planned := range plan.Pods() {
		run.pods = append(run.pods, &Pod{Object: planned.Pod, log: l, key: planned.Pod.Namespace + "/" + planned.Pod.Name})
	}
	return run, r.Err
}

func unknownVersion(version string) error {
	return fmt.Errorf("there is no profile of Kubernetes %s; known: %s", version, strings.Join(profile.Names(), ", "))
}

// Pod returns a pod of the run by its name, with its namespace where that is not default: web, shop-0, kube-system/dns.
func (s *Scenario) Pod(name string) *Pod {
	if s == nil {
		return nil // the run has failed
	}
	var names []string
	for _, p := range s.pods {
		if p.String() == name || p.key == name {
			return p
		}
		names = append(names, p.String())
	}
	fail(0, "the scenario has no pod %q; there are: %s", name, strings.Join(names, ", "))
	return nil
}

// Pods returns the pods of the run in the order of the scenario.
func (s *Scenario) Pods() []*Pod {
	if s == nil {
		return nil
	}
	return slices.Clone(s.pods)
}
