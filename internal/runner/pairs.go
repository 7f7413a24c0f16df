package runner

import (
	"context"
	"slices"

	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/summary"
	"probesim.dev/scenarios"
)

// Pair makes a run of a scenario with each of two manifests, to compare them.
func Pair(ctx context.Context, before, after *Job) (pair [2]compare.Run, err error) {
	for i, j := range []*Job{before, after} {
		s := j.Simulate(ctx, false, nil, nil)
		if s.Err != nil {
			return pair, j.failed(s.Err)
		}
		r := compare.Run{Pods: map[string]summary.Numbers{}}
		if j.Plan.Seed != nil {
			r.Seed = *j.Plan.Seed
		}
		measured := summary.Measure(s.Records, s.End)
		for name, has := range workloads(j.Plan) {
			pods := slices.DeleteFunc(slices.Clone(measured),
				func(p summary.Pod) bool { return p.Object != nil || !has(p.Name) })
			r.Pods[name] = summary.Total(pods)
			if len(pods) == 0 {
				r.Pods[name] = summary.Numbers{ToReady: summary.Never}
			}
		}
		for _, p := range measured {
			if p.Object != nil { // a Deployment or a Service
				r.Pods[p.Name] = p.Numbers
			}
		}
		pair[i] = r
	}
	return pair, nil
}

// workloads returns the workloads of a plan by name, and which pods each has. The pods of a
// Deployment are those of all its ReplicaSets.
func workloads(plan *scenarios.Plan) map[string]func(pod string) bool {
	all := map[string]func(string) bool{}
	for _, g := range simulate.Groups(plan) {
		if g.Owns == nil {
			all[g.Name] = func(pod string) bool { return slices.Contains(g.Pods, pod) }
		}
	}
	for _, w := range plan.Deployments() {
		name := w.Pod.Namespace + "/" + w.Manifest.Name
		all[name] = plan.Scenario.Selects(name)
	}
	return all
}
