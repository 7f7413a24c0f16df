package probetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/scenarios/verdict"
	"probesim.dev/internal/strict"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// RunScenarios runs each scenario in a file, or in all files below a directory, as a subtest
// NAME/VERSION for each version of Kubernetes of the scenario:
//
//	func TestProbes(t *testing.T) {
//		probetest.RunScenarios(t, "scenarios")
//	}
//
// To run one of them, use go test -run 'TestProbes/cold-start/v1.37'. The path is relative to the
// directory of the test. A scenario with seeds is one subtest that makes all its runs.
//
// A subtest fails if an expectation does not hold. Its message contains the position of the
// expectation, what it expected, what happened, the records and the timeline around the failure,
// and the command that repeats the run. A subtest to which no expectation applies is skipped. With
// -v, subtests that pass show their whole timeline.
//
// An invalid file, or a path without a scenario, fails the test before any scenario runs, with all
// errors listed.
func RunScenarios(t *testing.T, path string) {
	requireTest(t, "RunScenarios")
	t.Helper()
	all, err := scenarios.Load(path)
	if err != nil {
		t.Fatalf("Invalid scenario files; no scenario ran:\n%s", err)
	}
	for _, s := range all {
		t.Run(s.Metadata.Name, func(t *testing.T) {
			for _, plans := range verdict.ByVersion(s.Plans()) {
				t.Run(plans[0].Version, func(t *testing.T) {
					v := verdict.Of(t.Context(), plans)
					if v.Failure != "" {
						t.Errorf("%s:%d: %s", printable.Text(s.Pos.File), s.Pos.Line, v.Failure)
						return
					}
					if testing.Verbose() {
						t.Log("\n" + v.Timeline)
					}
					if v.Skip != "" {
						t.Skipf("%s:%d: %s", printable.Text(s.Pos.File), s.Pos.Line, v.Skip)
					}
				})
			}
		})
	}
}

// ScenarioOptions select a run of a scenario. The zero value is its first run.
type ScenarioOptions struct {
	Kubernetes string // a version that profile.Names lists; empty: the first version of the scenario
	Seed       *int64 // nil: the first seed of the scenario, or no seed if it has none
}

// ScenarioRun is a complete run of a scenario.
type ScenarioRun struct {
	t    testing.TB
	plan *scenarios.Plan
	log  *log
	pods []*Pod
}

// RunScenario makes one run of a scenario in a file, or below a directory, for assertions beyond
// the expectations of the file. It does not check those expectations; RunScenarios does.
//
//	run := RunScenario(t, "scenarios/rollout.yaml", "cold-start", ScenarioOptions{})
//	Expect(run.Pod("shop-1")).To(HaveBecomeReady().Within(time.Minute))
//
// An invalid file or an unknown name fails the test.
func RunScenario(t testing.TB, path, name string, o ScenarioOptions) *ScenarioRun {
	requireTest(t, "RunScenario")
	t.Helper()
	all, err := scenarios.Load(path)
	if err != nil {
		t.Fatalf("Invalid scenario files; no scenario ran:\n%s", err)
		return nil
	}
	var names []string
	for _, s := range all {
		if s.Metadata.Name == name {
			run, err := o.run(t, s)
			if err != nil {
				t.Fatalf("RunScenario: %s", err)
			}
			return run
		}
		names = append(names, s.Metadata.Name)
	}
	t.Fatalf("RunScenario: %s has no scenario %q%s; its scenarios are: %s", path, name, strict.DidYouMean(name, names),
		strings.Join(names, ", "))
	return nil
}

func (o ScenarioOptions) run(t testing.TB, s *scenarios.Scenario) (*ScenarioRun, error) {
	plan := s.Plans()[0]
	if o.Kubernetes != "" || o.Seed != nil {
		version, seed := plan.Version, plan.Seed
		if o.Kubernetes != "" {
			version = o.Kubernetes
		}
		if o.Seed != nil {
			seed = o.Seed
		}
		known, ok := profile.Named(version)
		if !ok {
			return nil, unknownVersion(version)
		}
		plan = s.Plan(known.Version, seed)
	}
	r := simulate.Run(context.Background(), plan, simulate.Options{Internal: true})
	l := &log{kubernetes: plan.Version, seed: plan.Seed, command: simulate.Command(plan), notes: plan.Notes(),
		end: r.End}
	for i := range r.Records {
		l.add(&r.Records[i])
	}
	run := &ScenarioRun{t: t, plan: plan, log: l}
	for _, pod := range r.Pods() {
		run.pods = append(run.pods,
			&Pod{Object: pod, member: member{t: t, log: l}, key: pod.Namespace + "/" + pod.Name})
	}
	return run, r.Err
}

func unknownVersion(version string) error {
	return fmt.Errorf("unknown version of Kubernetes %q; the supported versions are: %s", version,
		strings.Join(profile.NamesWithPreviews(), ", "))
}

// Pod returns a pod of the run by its name, such as web or shop-0, or by namespace/name. An unknown
// name fails the test.
func (r *ScenarioRun) Pod(name string) *Pod {
	if r == nil {
		return nil // the test has failed already
	}
	r.t.Helper()
	var names []string
	for _, p := range r.pods {
		if p.String() == name || p.key == name {
			return p
		}
		names = append(names, p.String())
	}
	r.t.Fatalf("the scenario has no pod %q; its pods are: %s", name, strings.Join(names, ", "))
	return nil
}

// Pods returns the pods of the run in the order of the scenario.
func (r *ScenarioRun) Pods() []*Pod {
	if r == nil {
		return nil
	}
	return slices.Clone(r.pods)
}

// Deployment returns a Deployment of the run that the controllers roll out, by its name, or by
// namespace/name. An unknown name fails the test.
func (r *ScenarioRun) Deployment(name string) *Deployment {
	if r == nil {
		return nil // the test has failed already
	}
	r.t.Helper()
	w := r.plan.Scenario.Deployment(name)
	if w == nil {
		r.t.Fatalf("the scenario has no Deployment %q with a controlPlane", name)
		return nil
	}
	d := &Deployment{object: object{member: member{t: r.t, log: r.log}, kind: "Deployment", namespace: w.Pod.Namespace,
		name: w.Manifest.Name}}
	for _, pod := range r.pods {
		if w.Owns(pod.key) {
			d.pods = append(d.pods, pod)
		}
	}
	return d
}

// Service returns a Service of the run by its name, or by namespace/name. An unknown name fails the
// test.
func (r *ScenarioRun) Service(name string) *Service {
	if r == nil {
		return nil // the test has failed already
	}
	r.t.Helper()
	of := r.plan.Scenario.Service(name)
	if of == nil {
		r.t.Fatalf("the scenario has no Service %q", name)
		return nil
	}
	s := &Service{object: object{member: member{t: r.t, log: r.log}, kind: "Service", namespace: of.Object.Namespace,
		name: of.Object.Name}}
	for _, e := range r.plan.ControlPlane().Traffic {
		if e.Service == s.key() {
			s.streams = append(s.streams, e)
		}
	}
	return s
}
