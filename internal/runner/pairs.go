package runner

import (
	"context"
	"slices"

	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/summary"
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
		for _, g := range simulate.Groups(j.Plan) {
			var pods []summary.Pod
			for _, p := range measured {
				if slices.Contains(g.Pods, p.Name) {
					pods = append(pods, p)
				}
			}
			r.Pods[g.Name] = summary.Total(pods)
		}
		pair[i] = r
	}
	return pair, nil
}
